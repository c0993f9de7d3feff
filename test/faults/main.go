// Command faults injects faults while AnsibleRuns of all policies and both groups come and go on a
// real control plane: into the provider, the API server, and Pods of runs. The plays write what they
// do to a ledger. The command compares the ledger with the statuses, and with what must always hold.
//
// A fault that is named for a phase of a run strikes in that phase: the request or the play that
// marks the phase is held meanwhile.
//
// The seed decides which faults come, and in which order. The machine decides how long everything
// takes, and so which faults coincide.
package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// cli is the command line.
type cli struct {
	Seed   uint64 `help:"Seed of all that is random here; 0 means a new one each time."`
	Faults int    `default:"210" help:"Faults to inject, at least."`
	Short  bool   `help:"Inject a few faults only, in less than four minutes."`

	Place string `default:"Provider" enum:"Provider,Pod" help:"Where runs happen: in the provider, or in Pods on a node, which needs root."`
	Only  string `help:"Inject those faults only whose names have this in them."`
}

// Run the faults.
func (c *cli) Run(ctx context.Context) (err error) {
	if c.Seed == 0 {
		c.Seed = rand.Uint64() //nolint:gosec // Not a secret.
	}

	out := os.Stdout
	_, _ = fmt.Fprintf(out, "Faults with --seed=%d\n", c.Seed)

	// What one stream draws must not depend on the pace of another.
	stream := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(c.Seed, n)) } //nolint:gosec // Not a secret.

	s, err := newStage(ctx, out, common.Place(c.Place), stream(1))
	if err != nil {
		return err
	}

	defer func() { err = errors.Join(err, s.close()) }()

	d := &drive{stage: s, population: &population{stage: s, rng: stream(2)}, rng: stream(3)}

	if err := d.population.configure(ctx); err != nil {
		return err
	}

	watching, stop := context.WithCancel(ctx)

	var wg sync.WaitGroup

	wg.Go(func() { d.population.watch(watching) })

	err = d.rounds(ctx, c, &bag{rng: stream(4), all: with(c.Only, d.strikes())},
		&bag{rng: stream(5), all: with(c.Only, d.disturbances())})

	stop()
	wg.Wait()

	if err != nil {
		s.printf("\nThe log of the provider ends with\n%s\n", s.stack.Tail(replicaNames()[0], 4<<10))
	}

	return errors.Join(err, d.report(out))
}

// rounds of faults until there were enough of them.
func (d *drive) rounds(ctx context.Context, c *cli, strikes, disturbances *bag) error {
	for n := 1; ; n++ {
		r := round{replicas: 1, strikes: 16, disturbances: 24}

		switch {
		case c.Short:
			r = round{replicas: 1, strikes: 6, disturbances: 9}
		case n%3 == 2:
			r.replicas, r.leases = 2, 1
		}

		if len(strikes.all) == 0 {
			r.strikes = 0
		}

		if len(disturbances.all) == 0 {
			r.disturbances = 0
		}

		d.printf("Round %d, %d replica(s)\n", n, r.replicas)

		if err := d.round(ctx, r, strikes, disturbances); err != nil {
			return err
		}

		d.printf("  %7.1fs  recovery\n", time.Since(d.began).Seconds())
		d.recovery(ctx)

		if c.Short || int(d.injected.Load()) >= c.Faults || ctx.Err() != nil || len(d.book.Breaches()) > 0 {
			return ctx.Err()
		}
	}
}

// report what the faults broke.
func (d *drive) report(out io.Writer) error {
	_, _ = fmt.Fprintf(out, "\nInjected %d faults while %d plays began, in %s.\n", d.injected.Load(), d.book.Count(),
		time.Since(d.began).Round(time.Second))

	breaches := d.book.Breaches()
	shown := map[string]bool{"": true}

	for _, b := range breaches {
		_, _ = fmt.Fprintf(out, "\nBROKEN: %s\n%s\n", b.Invariant, b.Text)

		if !shown[b.UID] {
			shown[b.UID] = true
			_, _ = fmt.Fprintf(out, "What the ledger has of the object:\n%s", d.book.Timeline(b.UID))
		}
	}

	if len(breaches) > 0 {
		return errors.Errorf("%d times something did not hold that always must", len(breaches))
	}

	_, _ = fmt.Fprintln(out, "All that must always hold did hold.")

	return nil
}

func main() {
	// What is worth knowing is printed.
	log.SetLogger(logr.Discard())

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	k := kong.Parse(&cli{}, kong.Description("Inject faults into the provider and what it depends on."))
	k.BindTo(ctx, (*context.Context)(nil))
	k.FatalIfErrorf(k.Run())
}
