package main

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"

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
// results are still written. A manager that ends before it is told to has failed, or has lost the lease: no result can
// be written any more, and another replica may start runs.
func (c *startCommand) serve(ctx context.Context, mgr ctrl.Manager, runs *pool.Pool, store *content.Store,
	log logging.Logger,
) error {
	managing, stop := context.WithCancel(context.Background())
	defer stop()

	alive, ended := context.WithCancel(context.Background())

	var err error

	go func() {
		defer ended()

		err = mgr.Start(managing)
	}()

	select {
	case <-alive.Done():
		endNow(runs, store)

		return err
	case <-ctx.Done():
	}

	log.Info("Stopping", "grace-period", c.ShutdownGracePeriod)

	over := time.Now().Add(c.ShutdownGracePeriod)

	grace, cancel := context.WithDeadline(alive, over)
	defer cancel()

	store.Stop()
	runs.Stop(grace)

	// An upgrade takes the rights to write results away, and gives them back when the
	// next revision has its own. A removal of the provider does not, and the lease is lost.
	recording, cancel := context.WithDeadline(alive, over.Add(recordGrace))
	defer cancel()

	// What is not recorded by then, the next provider finds.
	_ = wait.PollUntilContextCancel(recording, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		return runs.Unrecorded() == 0, nil
	})

	stop()
	<-alive.Done()

	return err
}

// endNow ends all runs and installations, without a grace period.
func endNow(runs *pool.Pool, store *content.Store) {
	over, cancel := context.WithCancel(context.Background())
	cancel()

	runs.Stop(over)
	store.Stop()
}
