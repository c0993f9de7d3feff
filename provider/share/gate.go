package share

import (
	"context"
	"slices"
	"sync"
)

// A Gate admits a limited number of visitors at a time, fairly among tenants.
type Gate struct {
	limit int

	mu      sync.Mutex
	shares  *Shares
	inside  int
	waiting []*visitor
}

// A visitor waits for admission.
type visitor struct {
	tenant string
	in     chan struct{}
}

// NewGate returns a gate for a number of visitors at a time. If that is more than one, no tenant can have all places.
func NewGate(limit int) *Gate {
	limit = max(limit, 1)

	return &Gate{limit: limit, shares: NewShares(max(limit-1, 1))}
}

// Enter waits for a place. The error is the cause of a context that is done first.
func (g *Gate) Enter(ctx context.Context, tenant string) (leave func(), err error) {
	v := &visitor{tenant: tenant, in: make(chan struct{})}

	g.mu.Lock()
	g.waiting = append(g.waiting, v)
	g.admit()
	g.mu.Unlock()

	select {
	case <-v.in:
		return sync.OnceFunc(func() { g.leave(v) }), nil
	case <-ctx.Done():
		g.leave(v)
		return nil, context.Cause(ctx)
	}
}

// leave the gate, or its queue.
func (g *Gate) leave(v *visitor) {
	g.mu.Lock()
	defer g.mu.Unlock()

	if i := slices.Index(g.waiting, v); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
		return
	}

	g.inside--
	g.shares.Take(v.tenant)
	g.admit()
}

// admit the next visitors. The caller holds the lock.
func (g *Gate) admit() {
	for g.inside < g.limit {
		v := First(g.shares, g.waiting, func(v *visitor) string { return v.tenant })
		if v == nil {
			return
		}

		g.waiting = slices.DeleteFunc(g.waiting, func(o *visitor) bool { return o == v })
		g.inside++
		g.shares.Give(v.tenant)
		close(v.in)
	}
}
