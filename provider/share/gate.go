package share

import (
	"context"
	"slices"
	"sync"
)

// A Gate lets in a bounded number at a time, and tenants in turns.
type Gate struct {
	limit int

	mu      sync.Mutex
	shares  *Shares
	inside  int
	waiting []*visitor
}

// A visitor waits to be let in.
type visitor struct {
	tenant string
	in     chan struct{}
}

// NewGate returns a gate that lets in so many at a time. If that is more than one, no
// tenant has all of the places.
func NewGate(limit int) *Gate {
	limit = max(limit, 1)

	return &Gate{limit: limit, shares: NewShares(max(limit-1, 1))}
}

// Enter when there is a place. The error is the cause for which the context is done.
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

// leave the gate, from inside or before it.
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

// admit the visitors that may enter. The gate is locked.
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
