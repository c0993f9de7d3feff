// Package faults injects faults while AnsibleRuns of all policies and both groups come and go on a
// real control plane: into the provider, the API server, and Pods of runs. The plays write what they
// do to a ledger. The test compares the ledger with the statuses, and with what must always hold.
//
// A fault that is named for a phase of a run strikes in that phase: the request or the play that
// marks the phase is held meanwhile.
//
// The seed decides which faults come, and in which order. The machine decides how long everything
// takes, and so which faults coincide.
package faults

import (
	"context"
	"flag"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

var (
	seed   = flag.Uint64("seed", rand.Uint64(), "Seed of all that is random here; by default a new one each time.")
	number = flag.Int("faults", 15, "Faults to inject, at least, as far as their moments come.")
	only   = flag.String("only", "", "Inject those faults only whose names have this in them.")

	// stack has etcd, kube-apiserver and the provider's API. With -place=Pod it has a node, and runs happen in Pods there.
	stack  *controlplane.Stack
	inPods bool
)

func TestMain(m *testing.M) {
	s := &cluster.Suite{Stack: "faults", Target: "faults", Options: controlplane.Options{Bare: true}}
	s.Prepare = func(_ context.Context, up *controlplane.Stack) error {
		stack, inPods = up, up.InPods()
		return nil
	}
	flag.StringVar((*string)(&s.Options.Place), "place", "Provider", "Where runs are carried out: Provider or Pod, on a node, which needs root.")
	s.Main(m)
}

// TestFaults injects faults until there were enough of them.
func TestFaults(t *testing.T) {
	t.Logf("-seed=%d", *seed)

	// What one stream draws must not depend on the pace of another.
	stream := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(*seed, n)) }

	s := newStage(t, stream(1))
	d := &drive{stage: s, population: &population{stage: s, rng: stream(2)}, rng: stream(3)}
	needs.OK(t, d.population.configure(t.Context()))

	watching, stop := context.WithCancel(t.Context())

	var wg sync.WaitGroup

	wg.Go(func() { d.population.watch(watching) })

	err := d.rounds(t.Context(), &bag{rng: stream(4), all: with(*only, d.strikes())}, &bag{rng: stream(5), all: with(*only, d.disturbances())})

	stop()
	wg.Wait()

	t.Logf("Injected %d faults while %d plays began, in %s.", d.injected.Load(), len(d.book.Runs()), time.Since(d.began).Round(time.Second))

	shown := map[string]bool{"": true}

	for _, b := range d.book.Breaches() {
		t.Errorf("BROKEN: %s\n%s", b.Invariant, b.Text)

		if !shown[b.UID] {
			shown[b.UID] = true
			t.Logf("What the ledger has of the object:\n%s", d.book.Timeline(b.UID))
		}
	}

	if err != nil {
		t.Fatalf("%v\nThe log of the provider ends with\n%s", err, stack.Tail(replicaNames()[0], 4<<10))
	}
}

// rounds of faults until there were enough of them.
func (d *drive) rounds(ctx context.Context, strikes, disturbances *bag) error {
	most := round{replicas: 1, strikes: min(16, *number*2/5)}
	most.disturbances = min(24, *number-most.strikes)

	for n := 1; ; n++ {
		r := most
		if n%3 == 2 {
			r.replicas, r.leases = 2, 1
		}

		d.t.Logf("Round %d, %d replica(s)", n, r.replicas)

		if err := d.round(ctx, r, strikes, disturbances); err != nil {
			return err
		}

		d.t.Logf("  %7.1fs  recovery", time.Since(d.began).Seconds())
		d.recovery(ctx)

		if n*(most.strikes+most.disturbances) >= *number || len(d.book.Breaches()) > 0 {
			return nil
		}
	}
}
