package main

import (
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
// requests, each of which may hang. Only after that all that it runs is ended, which
// has to be done when another one may begin.
const (
	leaseDuration = 60 * time.Second
	renewDeadline = 45 * time.Second
	renewPeriod   = 2 * time.Second
	leaseRequest  = 3 * time.Second
)

// newLease that replicas in a namespace lead by. No request for it takes longer than
// a timeout.
func newLease(cfg *rest.Config, namespace string, timeout time.Duration) (*resourcelock.LeaseLock, error) {
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

	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: leaseName},
		Client:     kube,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}, nil
}
