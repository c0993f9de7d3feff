package main

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
)

const leaseName = "crossplane-leader-election-provider-ansible"

// A lease that is not renewed is over after leaseDuration. A leader that cannot renew it
// tries for renewDeadline, and then gives it up, with two requests, each of which may take
// leaseRequest. All its runs have to be ended by the time when another replica may lead,
// whether the lease could be given up or not.
const (
	leaseDuration = 60 * time.Second
	renewDeadline = 45 * time.Second
	renewPeriod   = 2 * time.Second
	leaseRequest  = 3 * time.Second
)

// A lease ends all runs before it is given up. A leader that could not renew its lease
// gives it up before it tells the manager.
type lease struct {
	resourcelock.Interface

	// end all runs. It is set before the lease is acquired.
	end func()
	// renewed is when the lease was renewed last.
	renewed atomic.Pointer[time.Time]
}

// leads is true as long as no other replica may lead, also where this process was stopped meanwhile.
func (l *lease) leads() bool {
	t := l.renewed.Load()

	return t != nil && time.Since(*t) < renewDeadline
}

// Update the lease. A record without a holder gives it up.
func (l *lease) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	if r.HolderIdentity == "" {
		if l.end != nil {
			l.end()
		}

		l.renewed.Store(nil)

		return l.Interface.Update(ctx, r)
	}

	return l.noted(time.Now(), l.Interface.Update(ctx, r))
}

// Create the lease.
func (l *lease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.noted(time.Now(), l.Interface.Create(ctx, r))
}

// noted that a request for the lease has succeeded.
func (l *lease) noted(asked time.Time, err error) error {
	if err == nil {
		l.renewed.Store(&asked)
	}

	return err
}

// newLease returns the lease that elects one of the replicas in a namespace. A request for
// it takes no longer than leaseRequest.
func newLease(cfg *rest.Config, ns string) (*lease, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, errors.Wrap(err, "cannot find the name of this host")
	}

	id := resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())}
	l, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, ns, leaseName, id, cfg, 2*leaseRequest)

	return &lease{Interface: l}, errors.Wrap(err, "cannot make the lease")
}

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
	case <-alive.Done(): // There is no grace: all that follows ends with it.
	case <-ctx.Done():
		log.Info("Stopping", "grace-period", c.ShutdownGracePeriod)
	}

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
