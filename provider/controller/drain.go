package controller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// A drain reconciles all objects until the pool stops. From then on it reconciles only
// objects whose runs have begun, to record the results. The others are left as they are.
type drain struct {
	reconcile.Reconciler

	pool   Pool
	reader client.Reader
	// object of the kind that is reconciled.
	object resource.Managed
}

// Reconcile an object, unless the provider is stopping and has nothing to record
// of it.
func (d drain) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if d.pool.Stopping() && !d.records(ctx, req) {
		return reconcile.Result{}, nil
	}

	return d.Reconciler.Reconcile(ctx, req)
}

// records is true when the run of an object has begun and is not recorded yet.
func (d drain) records(ctx context.Context, req reconcile.Request) bool {
	run, ok := d.object.DeepCopyObject().(common.AnsibleRun)
	if !ok || d.reader.Get(ctx, req.NamespacedName, run) != nil {
		return false
	}

	r, known := d.pool.Report(run.GetUID())
	if !known || r.Run.StartTime == nil {
		return false
	}

	if recorded(run, r) {
		d.pool.Forget(run.GetUID(), r.Run.ID)
		return false
	}

	return true
}
