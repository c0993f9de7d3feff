// Package share divides places fairly among tenants.
package share

import (
	"k8s.io/utils/lru"
)

// maxRemembered is the number of tenants without a place that are remembered.
const maxRemembered = 1024

// Shares are the places of tenants. They are not safe for concurrent use.
type Shares struct {
	// most is the largest number of places of one tenant.
	most int
	// places is the number of places of each tenant. served has the value of given at its last place.
	places map[string]int
	served *lru.Cache
	// given is the number of places that were given so far.
	given int
}

// NewShares returns shares with a largest number of places for one tenant.
func NewShares(most int) *Shares {
	return &Shares{most: most, places: map[string]int{}, served: lru.New(maxRemembered)}
}

// Full is true for a tenant with the largest number of places.
func (s *Shares) Full(tenant string) bool { return s.places[tenant] >= s.most }

// First returns the waiting item that gets the next place; nil if none may have it. Items of the same tenant keep their
// order.
func First[T any](s *Shares, waiting []*T, tenant func(*T) string) *T {
	var first *T

	for _, w := range waiting {
		if t := tenant(w); !s.Full(t) && (first == nil || s.compare(t, tenant(first)) < 0) {
			first = w
		}
	}

	return first
}

// compare two tenants. It is negative if a comes before b: the tenant with fewer places, then the one that has waited
// longer since its last place.
func (s *Shares) compare(a, b string) int {
	if d := s.places[a] - s.places[b]; d != 0 {
		return d
	}

	return s.last(a) - s.last(b)
}

// last returns the value of given when the tenant got its last place.
func (s *Shares) last(tenant string) int {
	n, _ := s.served.Get(tenant)
	when, _ := n.(int)

	return when
}

// Give a tenant a place.
func (s *Shares) Give(tenant string) {
	s.given++
	s.served.Add(tenant, s.given)
	s.places[tenant]++
}

// Take a place back from a tenant.
func (s *Shares) Take(tenant string) {
	if s.places[tenant]--; s.places[tenant] == 0 {
		delete(s.places, tenant)
	}
}
