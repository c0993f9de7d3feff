package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/crossplane-ansible/crossplane-ansible/provider/operation"
)

// reasonCannotSettle is the reason of events on objects in which the changes of an
// Operation cannot be settled.
const reasonCannotSettle event.Reason = "CannotSettle"

// An operations reconciler settles objects that Operations have applied before it
// reconciles them: it removes what only earlier Operations had set, and their managed
// fields, which would grow without limit. Paused objects are settled, too. It reads
// objects from the API server, since the cache has no managed fields.
type operations struct {
	reconcile.Reconciler

	kube     client.Client
	live     client.Reader
	recorder event.Recorder
	kind     runKind
}

// Reconcile an object, or settle it. The update that settles it has it reconciled.
func (s operations) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	run, ok := s.kind.object.DeepCopyObject().(client.Object)
	if !ok || s.kube.Get(ctx, req.NamespacedName, run) != nil || !operation.Pending(run) {
		return s.Reconciler.Reconcile(ctx, req)
	}

	result, err := errors.SilentlyRequeueOnConflict(reconcile.Result{}, s.settle(ctx, req))
	if err != nil {
		s.recorder.Event(run, event.Warning(reasonCannotSettle, err))
	}

	return result, err
}

func (s operations) settle(ctx context.Context, req reconcile.Request) error {
	// A typed object would lose fields that this version does not know.
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(s.kind.GroupVersionKind)

	if err := s.live.Get(ctx, req.NamespacedName, u); err != nil {
		return errors.Wrap(client.IgnoreNotFound(err), "cannot read an object that an Operation has applied")
	}

	if !operation.Pending(u) {
		return nil
	}

	if err := operation.Settle(u); err != nil {
		return err
	}

	return errors.Wrap(s.kube.Update(ctx, u), "cannot remove what earlier Operations have set")
}
