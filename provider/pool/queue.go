package pool

import (
	"slices"

	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/share"
)

// fairness bounds how long a job waits: of the places that become free, one in four goes
// to a retry before urgent jobs, and one in four of these to a periodic job first.
const fairness = 4

// A queue of objects that wait for a place. Urgent jobs go before retries, and these
// before periodic ones. Within a class the tenant that has the fewest places goes first, then
// the tenant that was served longest ago, then the object that came first.
type queue struct {
	waiting [executor.Classes][]*entry
	// taken is how many places were given away so far.
	taken int
	// shares of the tenants in the places.
	shares *share.Shares
	// patient is the number of places that count of jobs which are not urgent.
	patient int
}

// newQueue for places of which one tenant may have limitPerTenant.
func newQueue(limitPerTenant int) *queue {
	return &queue{shares: share.NewShares(limitPerTenant)}
}

func (q *queue) push(e *entry) {
	q.waiting[e.class] = append(q.waiting[e.class], e)
}

// drop an object, if it waits.
func (q *queue) drop(e *entry) {
	q.waiting[e.class] = slices.DeleteFunc(q.waiting[e.class], func(o *entry) bool { return o == e })
}

func (q *queue) has(e *entry) bool { return slices.Contains(q.waiting[e.class], e) }

// next takes the object that gets the next place out of the queue; nil if none may have
// it. Only an urgent job may have the last place.
func (q *queue) next(limit int) *entry {
	for _, c := range q.order() {
		if c != executor.Urgent && q.patient >= max(limit-1, 1) {
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
func (q *queue) order() []executor.Class {
	switch n := q.taken + 1; {
	case n%(fairness*fairness) == 0:
		return []executor.Class{executor.Periodic, executor.Retry, executor.Urgent}
	case n%fairness == 0:
		return []executor.Class{executor.Retry, executor.Periodic, executor.Urgent}
	}

	return []executor.Class{executor.Urgent, executor.Retry, executor.Periodic}
}

func (q *queue) take(e *entry) {
	q.taken++
	q.shares.Give(e.tenant)
}
