package pool

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/share"
)

// fairness limits the waiting time of runs: every fourth free place goes to a retry before urgent runs, and every
// fourth of these to a periodic run.
const fairness = 4

// A queue has the objects that wait for a place, and those that have one. Urgent runs precede retries, and retries
// precede periodic runs. Within a class, the tenant with the fewest places is first, then the tenant that was served
// longest ago, then the object that has waited longest.
type queue struct {
	Place

	waiting [runs.Classes][]*entry
	// places are the taken and reserved places.
	places map[*entry]bool
	// taken is the number of places that were given so far.
	taken int
	// shares are the shares of the tenants in the places.
	shares *share.Shares
}

func newQueue(p Place) *queue {
	if p.Await == nil {
		p.Await = func(types.UID, content.Request, func()) (bool, error) { return true, nil }
	}

	if p.Recorded == nil {
		p.Recorded = func(types.UID, string) {}
	}

	return &queue{Place: p, places: map[*entry]bool{}, shares: share.NewShares(p.PerTenant)}
}

// running returns the number of places in use without lent ones, and the number of those with runs that are not urgent.
func (q *queue) running() (all, patient int) {
	for e := range q.places {
		if e.lent {
			continue
		}

		if all++; e.class != runs.Urgent {
			patient++
		}
	}

	return all, patient
}

// drop removes an object from the waiting ones.
func (q *queue) drop(e *entry) {
	q.waiting[e.class] = slices.DeleteFunc(q.waiting[e.class], func(o *entry) bool { return o == e })
}

// next removes the object that gets the next place from the waiting ones, and returns it; nil for none. Only an urgent
// run may have the last place.
func (q *queue) next() *entry {
	all, patient := q.running()
	if all >= q.Runs {
		return nil
	}

	for _, c := range q.order() {
		if c != runs.Urgent && patient >= max(q.Runs-1, 1) {
			continue
		}

		e := share.First(q.shares, q.waiting[c], func(e *entry) string { return e.tenant })
		if e == nil {
			continue
		}

		q.drop(e)
		q.take(e)

		return e
	}

	return nil
}

// order returns the precedence of the classes for the next place.
func (q *queue) order() []runs.Class {
	switch n := q.taken + 1; {
	case n%(fairness*fairness) == 0:
		return []runs.Class{runs.Periodic, runs.Retry, runs.Urgent}
	case n%fairness == 0:
		return []runs.Class{runs.Retry, runs.Periodic, runs.Urgent}
	}

	return []runs.Class{runs.Urgent, runs.Retry, runs.Periodic}
}

func (q *queue) take(e *entry) {
	q.taken++
	q.places[e] = true
	q.shares.Give(e.tenant)
}

// free frees the place of an object, if it has one.
func (q *queue) free(e *entry) {
	if q.places[e] {
		delete(q.places, e)
		q.shares.Take(e.tenant)
	}
}
