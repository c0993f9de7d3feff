package pool

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

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
	// running counts the places that are taken, or kept for an object, without those that are lent.
	running int
	// taken is how many places were given away so far.
	taken int
	// shares of the tenants in the places.
	shares *share.Shares
	// patient is the number of places that count of runs which are not urgent.
	patient int
}

func newQueue(p Place) *queue {
	if p.Needs == nil {
		p.Needs = func(runs.Run) runs.Needs { return runs.Needs{} }
	}

	if p.Recorded == nil {
		p.Recorded = func(types.UID, string) {}
	}

	return &queue{Place: p, shares: share.NewShares(p.PerTenant)}
}

// count the place of an object, or do not count it any more: n is 1 or -1.
func (q *queue) count(e *entry, n int) {
	q.running += n

	if e.class != runs.Urgent {
		q.patient += n
	}
}

// drop an object, if it waits.
func (q *queue) drop(e *entry) {
	q.waiting[e.class] = slices.DeleteFunc(q.waiting[e.class], func(o *entry) bool { return o == e })
}

// next takes the object that gets the next place out of the queue; nil if none may have
// it. Only an urgent run may have the last place.
func (q *queue) next() *entry {
	for _, c := range q.order() {
		if c != runs.Urgent && q.patient >= max(q.Runs-1, 1) {
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
	q.shares.Give(e.tenant)
}
