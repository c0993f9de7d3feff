package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/operation"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
)

const (
	// newsPriority is the priority of objects with news from the pool in the queue. Changes by users have priority 0, and
	// polls have the lowest one.
	newsPriority = 100
	// staleAgain is the time until the next reconcile of an object with an old version in the cache.
	staleAgain = 20 * time.Millisecond
	// staleFor is the longest time of waiting for the cache. An API server that was restored from a backup may never have
	// the written version.
	staleFor = 10 * time.Second
)

// reasonCannotSettle is the reason of events about changes of an Operation that cannot be settled.
const reasonCannotSettle event.Reason = "CannotSettle"

// A fresh reconciler calls the reconciler of crossplane-runtime only with current versions of objects, and at the rate
// of a limiter. It sets the time of the next reconcile.
type fresh struct {
	*connector

	runtime reconcile.Reconciler
	// reader reads from the API server.
	reader client.Reader
}

// Reconcile reconciles an object once the cache has its last version.
func (f fresh) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	run := newOf[common.AnsibleRun](f.kube.Scheme(), f.kind, f.kind.Kind)
	ok := f.kube.Get(ctx, req.NamespacedName, run) == nil

	switch {
	case f.schedule.awaits(req.NamespacedName, run.GetResourceVersion()):
		return reconcile.Result{RequeueAfter: staleAgain, Priority: new(newsPriority)}, nil
	case f.Pool.Stopping() && (!ok || !f.records(run)):
		return reconcile.Result{}, nil
	case ok && isPaused(run):
		f.Pool.Want(pool.Want{UID: run.GetUID(), Shown: run.Observation().LastRun})
	}

	// In contrast to crossplane-runtime's limiter, the request does not go back to the queue: each such request would
	// delay all later ones, even urgent ones. Results are recorded without delay while the provider is stopping.
	if !f.Pool.Stopping() && f.Limit.Wait(ctx) != nil {
		return reconcile.Result{}, nil //nolint:nilerr // The provider is stopping.
	}

	if ok && operation.Pending(run) {
		return f.settle(ctx, run)
	}

	l := &look{}
	result, err := f.runtime.Reconcile(context.WithValue(ctx, lookKey{}, l), req)

	if err == nil && l.next.RequeueAfter > 0 && (l.despite || result.RequeueAfter > 0) {
		return l.next, nil
	}

	result.Priority = new(handler.LowPriority)

	return result, err
}

// records is true for an object with a run that has begun, or has a start time in the status, and has no recorded end.
// A stopping provider reconciles only such objects.
func (f fresh) records(run common.AnsibleRun) bool {
	r, known := f.Pool.Report(run.GetUID())
	last := run.Observation().LastRun

	switch {
	case !known:
		return false
	case recorded(run, r):
		f.Pool.Recorded(run.GetUID(), r.Run.ID)
		return false
	case r.Waits && (last == nil || last.ID != r.Run.ID || last.StartTime == nil):
		f.Pool.Want(pool.Want{UID: run.GetUID(), Shown: last}) // The status does not have its start time.
		return false
	}

	return true
}

// settle settles an object that an Operation has applied, also if it is paused: it removes values that only earlier
// Operations have set, and their managed fields, which would grow without limit. The update triggers a reconcile. The
// object is read from the API server, since the cache has no managed fields.
func (f fresh) settle(ctx context.Context, run common.AnsibleRun) (reconcile.Result, error) {
	// A typed object would lose fields that this version does not know.
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(f.kind)

	err := errors.Wrap(client.IgnoreNotFound(f.reader.Get(ctx, client.ObjectKeyFromObject(run), u)),
		"cannot read an object that an Operation has applied")

	if err == nil && operation.Pending(u) {
		if err = operation.Settle(u); err == nil {
			err = errors.Wrap(f.kube.Update(ctx, u), "cannot remove the values that earlier Operations have set")
		}
	}

	result, err := errors.SilentlyRequeueOnConflict(reconcile.Result{}, err)
	if err != nil {
		f.recorder.Event(run, event.Warning(reasonCannotSettle, err))
	}

	return result, err
}

// isPaused is true for an object that the runtime ignores.
func isPaused(run common.AnsibleRun) bool {
	return meta.IsPaused(run) || len(run.GetManagementPolicies()) == 0
}
