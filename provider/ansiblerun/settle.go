package ansiblerun

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/crossplane-ansible/crossplane-ansible/provider/operation"
)

// reasonCannotSettle is that of events on objects that cannot be settled.
const reasonCannotSettle event.Reason = "CannotSettle"

// A settling reconciler settles objects that Operations apply, paused ones too: what
// Operations leave behind has no limit but that of etcd. It reads them from the API
// server, since the cache has no managed fields.
type settling struct {
	reconcile.Reconciler

	kube     client.Client
	live     client.Reader
	recorder event.Recorder
	kind     Kind
}

// Reconcile an object, or settle it. It is reconciled when that is seen.
func (s settling) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
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

func (s settling) settle(ctx context.Context, req reconcile.Request) error {
	// What is unstructured is written as it was read.
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
