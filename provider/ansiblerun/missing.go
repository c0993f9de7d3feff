package ansiblerun

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A waiting reconciler does not try an object again in which something is missing,
// such as a Secret: it is told when that appears. Thousands of them would keep it, and
// the API server, busy for nothing.
type waiting struct {
	reconcile.Reconciler

	polls *polls
}

// Reconcile an object, and poll it if something is missing.
func (w waiting) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	result, err := w.Reconciler.Reconcile(ctx, req)

	if after, ok := w.polls.missing(req.NamespacedName); ok && err == nil {
		return reconcile.Result{RequeueAfter: after}, nil
	}

	return result, err
}
