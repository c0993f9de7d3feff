package main

import (
	"context"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

const leaseName = "crossplane-leader-election-provider-ansible"

// The term of a leader. A lease that is not renewed is over after leaseDuration. A
// leader that cannot renew it tries for renewDeadline, and then gives it up: two
// requests, each of which may hang. All that it runs has to be ended when another one
// may begin, whether the lease is given up or not.
const (
	leaseDuration = 60 * time.Second
	renewDeadline = 45 * time.Second
	renewPeriod   = 2 * time.Second
	leaseRequest  = 3 * time.Second
)

// A lease that is given up once all that was done under it has ended. A leader that
// could not renew it gives it up before it tells anybody that it leads no more.
type lease struct {
	*resourcelock.LeaseLock

	// end all that is done under the lease. It is set before somebody leads.
	end func()
}

// Update the lease. A record without a holder gives it up.
func (l *lease) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	if r.HolderIdentity == "" && l.end != nil {
		l.end()
	}

	return l.LeaseLock.Update(ctx, r)
}

// newLease that replicas in a namespace lead by. No request for it takes longer than
// a timeout.
func newLease(cfg *rest.Config, namespace string, timeout time.Duration) (*lease, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, errors.Wrap(err, "cannot find the name of this host")
	}

	cfg = rest.AddUserAgent(rest.CopyConfig(cfg), "leader-election")
	cfg.Timeout = timeout

	kube, err := coordinationv1.NewForConfig(cfg)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a client for leases")
	}

	return &lease{LeaseLock: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: leaseName},
		Client:     kube,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}}, nil
}
