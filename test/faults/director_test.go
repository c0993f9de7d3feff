package faults

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/test/faults/ledger"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/trap"
)

// A director decides the behavior of plays.
type director struct {
	traps *trap.Passage

	mu        sync.Mutex
	rng       *rand.Rand
	ways      map[string]way
	faultless bool
}

// A way is the behavior of the plays of an object.
type way struct {
	// least and most time of a play.
	least, most time.Duration
	// fails is the share of plays with state present that fail. If hopeless, all of them fail, also without faults.
	fails    float64
	hopeless bool
}

func newDirector(traps *trap.Passage, rng *rand.Rand) *director {
	return &director{traps: traps, rng: rng, ways: map[string]way{}}
}

// behave sets the behavior of the plays of an object.
func (d *director) behave(uid string, w way) {
	d.mu.Lock()
	defer d.mu.Unlock()

	d.ways[uid] = w
}

// setFaultless turns the faults of plays off or on.
func (d *director) setFaultless(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()

	d.faultless = on
}

// Play returns after the time of a play of this object.
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
