package controller

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
)

// errInProgress is the error while a run keeps its object from being deleted.
var errInProgress = errors.New("waiting for the end of the run in progress, of which nothing would be known otherwise")

// A finalizer keeps an object until its run has ended. An apply is not canceled when its object is deleted: an
// interrupted play does more harm than a complete one.
type finalizer struct {
	resource.Finalizer

	*connector
}

// RemoveFinalizer removes the finalizer of an object without a run in progress. Without the management policy Delete,
// Observe is not called before. A run that waits for a place, or in its Pod, does not begin any more.
func (f finalizer) RemoveFinalizer(ctx context.Context, o resource.Object) error {
	run, ok := o.(common.AnsibleRun)
	if !ok {
		return f.Finalizer.RemoveFinalizer(ctx, o)
	}

	f.follow(ctx, run)

	last := run.Observation().LastRun
	r, known := f.Pool.Report(run.GetUID())

	f.Pool.Want(pool.Want{
		UID: run.GetUID(), Shown: last,
		// A check changes nothing, and may be canceled.
		End: r.Run.Mode == common.ModeCheck || run.GetAnnotations()[common.AnnotationCancel] == r.Run.ID,
	})

	if known && !r.Waits && !r.Run.Phase.Finished() || !known && inProgress(last) { // The provider is stopping.
		return errInProgress
	}

	return f.Finalizer.RemoveFinalizer(ctx, run)
}
