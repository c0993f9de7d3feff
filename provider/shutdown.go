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

// A lease that is not renewed expires after leaseDuration. A leader that cannot renew its lease tries for
// renewDeadline, and then releases it with two requests, each of leaseRequest at most. All its runs must have ended
// when another replica may lead, whether the release has succeeded or not.
const (
	leaseDuration = 60 * time.Second
	renewDeadline = 45 * time.Second
	renewPeriod   = 2 * time.Second
	leaseRequest  = 3 * time.Second
)

// A lease is a resource lock that ends all runs before its release. A leader that could not renew its lease releases it
// before the manager ends.
type lease struct {
	resourcelock.Interface

	// end ends all runs. It is set before the lease is acquired.
	end func()
	// renewed is the time of the last renewal.
	renewed atomic.Pointer[time.Time]
}

// leads is true as long as no other replica may lead, even if this process was suspended since the last renewal.
func (l *lease) leads() bool {
	t := l.renewed.Load()

	return t != nil && time.Since(*t) < renewDeadline
}

// Update updates the lease. A record without a holder releases it.
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

// Create creates the lease.
func (l *lease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.noted(time.Now(), l.Interface.Create(ctx, r))
}

// noted records the time of a successful request for the lease.
func (l *lease) noted(asked time.Time, err error) error {
	if err == nil {
		l.renewed.Store(&asked)
	}

	return err
}

// newLease returns the lease for the election among the replicas in a namespace. A request for it takes leaseRequest at
// most.
func newLease(cfg *rest.Config, ns string) (*lease, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, errors.Wrap(err, "cannot find the name of this host")
	}

	id := resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())}
	l, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, ns, leaseName, id, cfg, 2*leaseRequest)

	return &lease{Interface: l}, errors.Wrap(err, "cannot make the lease")
}

// After the grace period of runs, the provider writes their last results for recordGrace, and the manager stops within
// stopGrace. Together with the release of the lease, this takes less than the 10 s that are left of the default grace
// period of a Pod, 30 s.
const (
	recordGrace = 4 * time.Second
	stopGrace   = 2 * time.Second
)

// serve runs the manager until the context is done. Then it stops the runs first, so that their results are still
// written. If the manager ends earlier, it has failed, or has lost the lease: results cannot be written any more, and
// another replica may start runs.
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
	case <-alive.Done(): // Without a grace period: the following contexts derive from alive.
	case <-ctx.Done():
		log.Info("Stopping", "grace-period", c.ShutdownGracePeriod)
	}

	over := time.Now().Add(c.ShutdownGracePeriod)

	grace, cancel := context.WithDeadline(alive, over)
	defer cancel()

	store.Stop()
	runs.Stop(grace)

	// An upgrade revokes the rights to write results, and grants them again once the next revision has its own. A removal
	// of the provider does not grant them again, and the lease is lost.
	recording, cancel := context.WithDeadline(alive, over.Add(recordGrace))
	defer cancel()

	// The next provider finds runs that are not recorded by then.
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
