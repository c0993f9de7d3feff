// Package share shares places among tenants.
package share

import (
	"k8s.io/utils/lru"
)

// maxRemembered is how many tenants are remembered that have no place.
const maxRemembered = 1024

// Shares of tenants in places of one kind. They are not safe for concurrent use.
type Shares struct {
	// most places that one tenant may have.
	most int
	// places that each tenant has, and when it was given the last one.
	places map[string]int
	served *lru.Cache
	// given is how many places were given away so far.
	given int
}

// NewShares returns shares in places of which one tenant may have so many at most.
func NewShares(most int) *Shares {
	return &Shares{most: most, places: map[string]int{}, served: lru.New(maxRemembered)}
}

// Full is true for a tenant that may have no more places.
func (s *Shares) Full(tenant string) bool { return s.places[tenant] >= s.most }

// First of those that wait is the one that is to have the next place; nil if none may have it.
// Of those of one tenant it is the first.
func First[T any](s *Shares, waiting []*T, tenant func(*T) string) *T {
	var first *T

	for _, w := range waiting {
		if t := tenant(w); !s.Full(t) && (first == nil || s.compare(t, tenant(first)) < 0) {
			first = w
		}
	}

	return first
}

// compare two tenants, negative if a is to have the next place before b: the one with fewer
// places, then the one that was given its last place longer ago.
func (s *Shares) compare(a, b string) int {
	if d := s.places[a] - s.places[b]; d != 0 {
		return d
	}

	return s.last(a) - s.last(b)
}

// last is when a tenant was given a place.
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
