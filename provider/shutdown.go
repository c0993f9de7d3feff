package main

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
)

// After the grace period of runs, their last results are written for recordGrace, and the
// manager stops for stopGrace. Together with giving up the lease this takes less than the
// ten seconds that are left of a Pod's own grace period of 30 seconds.
const (
	recordGrace = 4 * time.Second
	stopGrace   = 2 * time.Second
)

// serve until the context is done, and then stop in order: runs first, so that their
// results are still written.
func (c *startCommand) serve(ctx context.Context, mgr ctrl.Manager, runs *pool.Pool, store *content.Store,
	log logging.Logger,
) error {
	mgrCtx, stopManager := context.WithCancel(context.Background())
	defer stopManager()

	var err error

	ended := make(chan struct{})

	go func() {
		defer close(ended)

		err = mgr.Start(mgrCtx)
	}()

	select {
	case <-ended:
		endNow(runs, store)

		return err
	case <-ctx.Done():
	}

	log.Info("Stopping", "grace-period", c.ShutdownGracePeriod)

	over := time.Now().Add(c.ShutdownGracePeriod)

	grace, cancel := context.WithDeadline(context.Background(), over)
	defer cancel()

	store.Stop()
	runs.Stop(grace)

	// An upgrade takes the rights to write results away, and gives them back when the
	// next revision has its own. A removal of the provider does not, and the lease is lost.
	recorded(runs, time.Until(over.Add(recordGrace)), ended)
	stopManager()

	<-ended

	return err
}

// stopping ends all runs as soon as the manager ends. A manager that ends before it is told
// to has failed, or has lost the lease: no result can be written any more, and another
// replica may start runs.
func stopping(runs *pool.Pool, store *content.Store) manager.RunnableFunc {
	return func(ctx context.Context) error {
		<-ctx.Done()
		endNow(runs, store)

		return nil
	}
}

// endNow ends all runs and installations, without a grace period.
func endNow(runs *pool.Pool, store *content.Store) {
	over, cancel := context.WithCancel(context.Background())
	cancel()

	runs.Stop(over)
	store.Stop()
}

// recorded waits until the results of all runs were written, or the manager has ended, so
// that they cannot be written any more.
func recorded(runs *pool.Pool, atMost time.Duration, ended <-chan struct{}) {
	deadline := time.After(atMost)
	tick := time.NewTicker(50 * time.Millisecond)

	defer tick.Stop()

	for runs.Unrecorded() > 0 {
		select {
		case <-deadline:
			return
		case <-ended:
			return
		case <-tick.C:
		}
	}
}
