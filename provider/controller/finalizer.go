package controller

import (
	"context"
	"slices"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// errInProgress means that an object may not go yet.
var errInProgress = errors.New("waiting for the end of the run in progress, of which nothing would be known otherwise")

// A finalizer keeps an object until its run has ended. One that leaves its
// target as it is does not cancel it: half of a play is worse than none.
type finalizer struct {
	resource.Finalizer

	pool Pool
}

// AddFinalizer to an object, and its external name in the same write.
func (f finalizer) AddFinalizer(ctx context.Context, o resource.Object) error {
	run, ok := o.(common.AnsibleRun)
	if !ok {
		return f.Finalizer.AddFinalizer(ctx, o)
	}

	setExternalName(run)

	return keepingStatus(run, func() error { return f.Finalizer.AddFinalizer(ctx, run) })
}

// claim an object before the first apply, unless that was done before: one write
// gives it its external name and the finalizer, and notes that an apply may have
// begun.
func (e *external) claim(ctx context.Context, run common.AnsibleRun) error {
	if begun(run) {
		return nil
	}

	setExternalName(run)
	meta.AddFinalizer(run, managed.FinalizerName)
	meta.SetExternalCreatePending(run, e.now())

	err := keepingStatus(run, func() error { return e.kube.Update(ctx, run) })

	return errors.Wrap(err, "cannot note that the object is about to be applied")
}

// setExternalName of an object that has none to its name, as Crossplane does.
func setExternalName(run common.AnsibleRun) {
	if meta.GetExternalName(run) == "" {
		meta.SetExternalName(run, run.GetName())
	}
}

// keepingStatus writes an object, and keeps the status that is still to be written:
// clients decode what the API server answers over what is there.
func keepingStatus(run common.AnsibleRun, write func() error) error {
	observation, conditions := run.Observation().DeepCopy(), slices.Clone(*run.Conditions())
	err := write()
	*run.Observation(), *run.Conditions() = *observation, conditions

	return err
}

// RemoveFinalizer of an object of which no run is in progress.
func (f finalizer) RemoveFinalizer(ctx context.Context, o resource.Object) error {
	f.pool.Withdraw(o.GetUID())

	if r, known := f.pool.Report(o.GetUID()); known && !r.Waits() && !r.Run.Phase.Finished() {
		// Nothing is lost with a check.
		if r.Run.Mode == common.ModeCheck {
			f.pool.Cancel(o.GetUID())
		}

		return errInProgress
	}

	return f.Finalizer.RemoveFinalizer(ctx, o)
}

// whenNoted tells the pool of the runs that the API server knows of. Of those of
// objects that are paused it never will.
func whenNoted(pool Pool) handler.EventHandler {
	return handler.Funcs{
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			run, ok := e.ObjectNew.(common.AnsibleRun)
			if !ok {
				return
			}

			if meta.IsPaused(run) || len(run.GetManagementPolicies()) == 0 {
				pool.Withdraw(run.GetUID())
			}

			if r := run.Observation().LastRun; r != nil && r.StartTime != nil {
				pool.Noted(run.GetUID(), r.ID)
			}
		},
	}
}

// whenGone ends what goes on for objects that are gone, however that came, and
// forgets what is known of them.
func whenGone(pool Pool, p *schedule) handler.EventHandler {
	return handler.Funcs{
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			pool.Abandon(e.Object.GetUID())
			p.forget(e.Object.GetUID())
		},
	}
}
