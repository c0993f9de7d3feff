package pool

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/share"
)

// fairness bounds how long a run waits: of the places that become free, one in four goes
// to a retry before urgent runs, and one in four of these to a periodic run first.
const fairness = 4

// A queue of objects that wait for a place, and those that have one. Urgent runs go before retries, and these
// before periodic ones. Within a class the tenant that has the fewest places goes first, then
// the tenant that was served longest ago, then the object that came first.
type queue struct {
	Place

	waiting [runs.Classes][]*entry
	// places that are taken, or kept for an object.
	places map[*entry]bool
	// taken is how many places were given away so far.
	taken int
	// shares of the tenants in the places.
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

// running is the number of places without those that are lent, and how many of these have runs that are not urgent.
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

// drop an object, if it waits.
func (q *queue) drop(e *entry) {
	q.waiting[e.class] = slices.DeleteFunc(q.waiting[e.class], func(o *entry) bool { return o == e })
}

// next takes the object that gets the next place out of the queue; nil if none may have
// it. Only an urgent run may have the last place.
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

// order of the classes for the next place.
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

// free the place of an object, if it has one.
func (q *queue) free(e *entry) {
	if q.places[e] {
		delete(q.places, e)
		q.shares.Take(e.tenant)
	}
}
