package faults

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/test/faults/ledger"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/trap"
)

// A director says how plays behave.
type director struct {
	traps *trap.Passage

	mu        sync.Mutex
	rng       *rand.Rand
	ways      map[string]way
	faultless bool
}

// A way in which the plays of an object behave.
type way struct {
	// least and most time that they take.
	least, most time.Duration
	// fails is the share of the plays that fail, of those with state present.
	// Hopeless ones always fail, also without faults.
	fails    float64
	hopeless bool
}

func newDirector(traps *trap.Passage, rng *rand.Rand) *director {
	return &director{traps: traps, rng: rng, ways: map[string]way{}}
}

// behave says how the plays of an object behave from now on.
func (d *director) behave(uid string, w way) {
	d.mu.Lock()
	defer d.mu.Unlock()

	d.ways[uid] = w
}

// setFaultless has all plays work without faults from now on, or not.
func (d *director) setFaultless(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()

	d.faultless = on
}

// Play for as long as its object's plays do.
func (d *director) Play(ctx context.Context, r ledger.Run) (fail bool) {
	d.traps.Pass(ctx, trap.Event{Kind: trap.PlayBegan, UID: r.UID, RunID: r.ID, Mode: r.Mode, State: r.State})

	d.mu.Lock()
	w := d.ways[r.UID]
	took := w.least + time.Duration(d.rng.Int64N(int64(w.most-w.least)+1))
	fail = w.hopeless && r.State == ledger.StatePresent

	switch {
	case d.faultless:
		took = min(took, 100*time.Millisecond)
	case r.State == ledger.StatePresent || d.rng.IntN(2) == 0:
		fail = fail || d.rng.Float64() < w.fails
	}
	d.mu.Unlock()

	select {
	case <-time.After(took):
	case <-ctx.Done():
	}

	return fail
}
