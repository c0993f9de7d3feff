package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
)

const (
	// newsPriority is the priority in the queue of objects with news from the pool. Changes by
	// users have priority 0, and polls have the lowest.
	newsPriority = 100
	// staleAgain is when an object is looked at again that the cache shows as it was.
	staleAgain = 20 * time.Millisecond
	// staleFor is how long the cache is waited for. An API server that was restored from a backup
	// may never show what was written.
	staleFor = 10 * time.Second
)

// A fresh reconciler reconciles objects as they are, and no more often than a limiter allows.
type fresh struct {
	reconcile.Reconciler

	pool     Pool
	stopping func() bool
	reader   client.Reader
	schedule *schedule
	// object of the kind that is reconciled.
	object  resource.Managed
	name    string
	limiter ratelimiter.RateLimiter
}

// Reconcile an object as it is.
func (f fresh) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	run, ok := f.object.DeepCopyObject().(common.AnsibleRun)
	ok = ok && f.reader.Get(ctx, req.NamespacedName, run) == nil

	switch {
	case f.isStale(req, run, ok):
		return reconcile.Result{RequeueAfter: staleAgain, Priority: new(newsPriority)}, nil
	case f.stopping() && (!ok || !f.records(run)):
		return reconcile.Result{}, nil
	case ok && isPaused(run):
		f.pool.Want(pool.Want{UID: run.GetUID(), Shown: run.Observation().LastRun, EndWaiting: true})
	}

	if !f.limit(ctx, req) {
		return reconcile.Result{}, nil // The provider ends.
	}

	result, err := f.Reconciler.Reconcile(ctx, req)

	// A watch tells when inputs that are missing, such as a Secret, appear. Retries of thousands of such objects would
	// keep the provider and the API server busy for nothing.
	if after, missing := f.schedule.takeMissing(req.NamespacedName); missing && err == nil {
		result = reconcile.Result{RequeueAfter: after}
	}

	result.Priority = new(handler.LowPriority)

	return result, err
}

// isStale is true for an object of which the cache does not show the status yet that was written last. The API server
// would refuse what follows from an older one, after all the work.
func (f fresh) isStale(req reconcile.Request, run common.AnsibleRun, ok bool) bool {
	last, written := f.schedule.lastWrite(req.NamespacedName)
	if !written {
		return false
	}

	if ok && time.Now().Before(last.until) && isOlder(run.GetResourceVersion(), last.version) {
		return true
	}

	f.schedule.saw(req.NamespacedName, last)

	return false
}

// records is true for an object with a run that has begun, or is shown so, and is not recorded yet. A provider that is
// stopping reconciles no others.
func (f fresh) records(run common.AnsibleRun) bool {
	r, known := f.pool.Report(run.GetUID())
	last := run.Observation().LastRun

	switch {
	case !known:
		return false
	case recorded(run, r):
		f.pool.Recorded(run.GetUID(), r.Run.ID)
		return false
	case r.Waits && (last == nil || last.ID != r.Run.ID || last.StartTime == nil):
		f.pool.Want(pool.Want{UID: run.GetUID(), Shown: last}) // No status says that it has begun.
		return false
	}

	return true
}

// limit waits until the limiter allows a reconcile, unlike crossplane-runtime's, which sends a request back to the
// queue: each such request makes all later ones wait longer, however urgent they are. What is recorded while the
// provider is stopping does not wait. It is false when the provider ends.
func (f fresh) limit(ctx context.Context, req reconcile.Request) bool {
	item := f.name + req.String()
	defer f.limiter.Forget(item)

	if f.stopping() {
		return true
	}

	select {
	case <-time.After(f.limiter.When(item)):
		return true
	case <-ctx.Done():
		return false
	}
}

// isPaused is true for an object that the runtime does nothing about.
func isPaused(run common.AnsibleRun) bool {
	return meta.IsPaused(run) || len(run.GetManagementPolicies()) == 0
}

// isOlder is true for a resource version that is known to be older than another one.
func isOlder(version, than string) bool {
	c, err := resourceversion.CompareResourceVersion(version, than)

	return err == nil && c < 0
}
