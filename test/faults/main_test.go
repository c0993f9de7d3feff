// Package faults injects faults into the provider, the API server, and Pods of runs on a real control plane, while
// AnsibleRuns of all policies and both groups are created and deleted. The plays report to a ledger. The test compares
// the ledger with the statuses and with its invariants.
//
// A fault with the name of a phase strikes in that phase of a run: the request or the play that marks the phase is held
// during the fault.
//
// The seed decides the faults and their order. The speed of the machine decides which of them coincide.
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
	seed   = flag.Uint64("seed", rand.Uint64(), "Seed of all random decisions; by default a new one each time.")
	number = flag.Int("faults", 15, "The least number of faults to inject. Faults whose moment does not come do not count.")
	only   = flag.String("only", "", "Inject only faults with this text in their names.")

	// stack has etcd, kube-apiserver and the provider's API. With -place=Pod it has a node for the Pods of runs.
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

// TestFaults injects the number of faults that the flag asks for.
func TestFaults(t *testing.T) {
	t.Logf("-seed=%d", *seed)

	// Each stream of random numbers is independent of the pace of the others.
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
