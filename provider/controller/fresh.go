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
	// newsPriority is the priority in the queue of objects with news from the pool. Changes by
	// users have priority 0, and polls have the lowest.
	newsPriority = 100
	// staleAgain is when an object is looked at again that the cache shows as it was.
	staleAgain = 20 * time.Millisecond
	// staleFor is how long the cache is waited for. An API server that was restored from a backup
	// may never show what was written.
	staleFor = 10 * time.Second
)

// reasonCannotSettle is the reason of events on objects in which the changes of an
// Operation cannot be settled.
const reasonCannotSettle event.Reason = "CannotSettle"

// A fresh reconciler has the runtime's reconcile objects as they are, and no more often than a limiter allows. It is
// the one that says when an object is looked at next.
type fresh struct {
	*connector

	runtime reconcile.Reconciler
	// reader reads from the API server.
	reader client.Reader
}

// Reconcile an object as it is.
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

	// Unlike with crossplane-runtime's limiter the request does not go back to the queue: each such request makes all
	// later ones wait longer, however urgent they are. What is recorded while the provider is stopping does not wait.
	if !f.Pool.Stopping() && f.Limit.Wait(ctx) != nil {
		return reconcile.Result{}, nil //nolint:nilerr // The provider ends.
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

// records is true for an object with a run that has begun, or is shown so, and is not recorded yet. A provider that is
// stopping reconciles no others.
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
		f.Pool.Want(pool.Want{UID: run.GetUID(), Shown: last}) // No status says that it has begun.
		return false
	}

	return true
}

// settle an object that an Operation has applied, also if it is paused: what only earlier Operations had set goes, and
// so do their managed fields, which would grow without limit. The update has the object reconciled. The object is read
// from the API server, since the cache has no managed fields.
func (f fresh) settle(ctx context.Context, run common.AnsibleRun) (reconcile.Result, error) {
	// A typed object would lose fields that this version does not know.
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(f.kind)

	err := errors.Wrap(client.IgnoreNotFound(f.reader.Get(ctx, client.ObjectKeyFromObject(run), u)),
		"cannot read an object that an Operation has applied")

	if err == nil && operation.Pending(u) {
		if err = operation.Settle(u); err == nil {
			err = errors.Wrap(f.kube.Update(ctx, u), "cannot remove what earlier Operations have set")
		}
	}

	result, err := errors.SilentlyRequeueOnConflict(reconcile.Result{}, err)
	if err != nil {
		f.recorder.Event(run, event.Warning(reasonCannotSettle, err))
	}

	return result, err
}

// isPaused is true for an object that the runtime does nothing about.
func isPaused(run common.AnsibleRun) bool {
	return meta.IsPaused(run) || len(run.GetManagementPolicies()) == 0
}
