package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A drive injects faults while the population changes.
type drive struct {
	*stage

	population *population

	// injected is the number of faults so far.
	injected atomic.Int64

	// api is held while a fault sets the rules of the proxies.
	api sync.Mutex

	mu  sync.Mutex
	rng *rand.Rand
}

// A round of faults, after which all objects must recover.
type round struct {
	// replicas of the provider.
	replicas int
	// Numbers of strikes, of disturbances, and of lost leases.
	strikes, disturbances, leases int
}

func (d *drive) roll(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()

	return d.rng.IntN(n)
}

// start replicas of the provider. Running ones stay.
func (d *drive) start(ctx context.Context, n int) error {
	elects := n > 1 || inPods

	for _, r := range d.running() {
		if len(d.running()) <= n && elects == r.elects {
			continue
		}

		if err := r.piece.Stop(ctx); err != nil {
			return err
		}

		r.piece = nil
	}

	for _, r := range d.replicas {
		if r.piece != nil || len(d.running()) >= n {
			continue
		}

		r.elects = elects
		r.piece = r.make(fmt.Sprintf("--leader-election=%t", r.elects))

		if err := d.run(ctx, r); err != nil {
			return err
		}
	}

	return nil
}

// run a replica. It ends if the API does not answer yet. It is started again then, as the kubelet does.
func (d *drive) run(ctx context.Context, r *replica) error {
	return retry.OnError(wait.Backoff{Duration: time.Second, Steps: 60},
		func(error) bool { return ctx.Err() == nil }, func() error { return r.piece.Start(ctx) })
}

// round of faults.
func (d *drive) round(ctx context.Context, r round, strikes, disturbances *bag) error {
	if err := d.start(ctx, r.replicas); err != nil {
		return err
	}

	d.director.setFaultless(false)

	for len(d.population.live()) < size*2/3 {
		if err := d.population.create(ctx); err != nil {
			return err
		}
	}

	work, done := context.WithCancel(ctx)
	defer done()

	var (
		injecting, around sync.WaitGroup
		failed            = make(chan error, 4)
	)

	fail := func(err error) {
		if err != nil {
			failed <- err
			done()
		}
	}

	around.Go(func() {
		for work.Err() == nil {
			// The last change is not interrupted: the population wants its result from the beginning on.
			if err := d.population.change(ctx); err != nil {
				fail(err)
			}

			pause(work, either(time.Second, podPace)*time.Duration(500+d.roll(1500))/1000)
		}
	})

	injecting.Go(func() {
		fail(d.inject(work, r.leases, &bag{rng: d.rng, all: []fault{{"leader cut off until another leads", d.isolate}}}))
		fail(d.inject(work, r.strikes, strikes))
	})
	injecting.Go(func() { fail(d.inject(work, r.disturbances, disturbances)) })
	injecting.Wait()
	done()
	around.Wait()

	select {
	case err := <-failed:
		return err
	default:
		return ctx.Err()
	}
}

// inject a number of faults, one after another.
func (d *drive) inject(ctx context.Context, n int, b *bag) error {
	for i := 0; i < n && ctx.Err() == nil && len(b.all) > 0; i++ {
		f := b.next()
		began := time.Now()
		word, err := f.inject(ctx)
		missed := errors.Is(err, errMissed)

		if ctx.Err() != nil {
			return nil //nolint:nilerr // The context has the reason.
		}

		if err != nil && !missed {
			return errors.Wrapf(err, "cannot inject %q", f.name)
		}

		if !missed {
			d.injected.Add(1)
		}

		d.t.Logf("  %7.1fs  %4.1fs  %s  %s", time.Since(d.began).Seconds(), time.Since(began).Seconds(), f.name,
			word+map[bool]string{true: "(missed)"}[missed])

		pause(ctx, time.Duration(d.roll(1500))*time.Millisecond)
	}

	return nil
}

// heal ends the faults that the programs cannot end.
func (d *drive) heal() {
	d.director.setFaultless(true)

	for _, r := range d.replicas {
		r.proxy.Set(nil)
		r.proxy.Stall(false)
	}
}
