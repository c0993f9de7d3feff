package controller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A missingInputs reconciler does not retry an object whose inputs are missing, such as a
// Secret: a watch tells when they appear. Retries of thousands of such objects would keep
// the provider and the API server busy for nothing.
type missingInputs struct {
	reconcile.Reconciler

	schedule *schedule
}

// Reconcile an object, and poll it if inputs are missing.
func (m missingInputs) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	result, err := m.Reconciler.Reconcile(ctx, req)

	if after, ok := m.schedule.takeMissing(req.NamespacedName); ok && err == nil {
		return reconcile.Result{RequeueAfter: after}, nil
	}

	return result, err
}
