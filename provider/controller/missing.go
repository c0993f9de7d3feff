package controller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A missingInputs reconciler does not retry an object in which something is missing,
// such as a Secret: it is told when that appears. Thousands of them would keep it, and
// the API server, busy for nothing.
type missingInputs struct {
	reconcile.Reconciler

	schedule *schedule
}

// Reconcile an object, and poll it if something is missing.
func (m missingInputs) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	result, err := m.Reconciler.Reconcile(ctx, req)

	if after, ok := m.schedule.missing(req.NamespacedName); ok && err == nil {
		return reconcile.Result{RequeueAfter: after}, nil
	}

	return result, err
}
