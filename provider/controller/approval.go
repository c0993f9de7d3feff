package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/lifecycle"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// Reasons of events about approvals.
const (
	ReasonApproved     event.Reason = "Approved"
	ReasonRejected     event.Reason = "Rejected"
	ReasonCannotDelete event.Reason = "CannotDeleteApproval"
	ReasonIgnored      event.Reason = "ApprovalIgnored"
)

// fieldRun indexes Approvals by the name of their AnsibleRun.
const fieldRun = "provider.run"

// approvalsOf returns the Approvals for an AnsibleRun, from the cache.
func (c *connector) approvalsOf(ctx context.Context, run common.AnsibleRun) ([]common.Approval, error) {
	l := newOf[client.ObjectList](c.kube.Scheme(), c.kind, "ApprovalList")
	if err := c.kube.List(ctx, l, client.InNamespace(run.GetNamespace()),
		client.MatchingFields{fieldRun: run.GetName()}); err != nil {
		return nil, errors.Wrap(err, "cannot list Approvals")
	}

	var all []common.Approval

	err := meta.EachListItem(l, func(o runtime.Object) error {
		if a, ok := o.(common.Approval); ok {
			all = append(all, a)
		}

		return nil
	})

	return all, err
}

// deleteApproval deletes an Approval if the provider has the right to. Crossplane does not grant this right.
func (c *connector) deleteApproval(ctx context.Context, a common.Approval) error {
	err := c.kube.Delete(ctx, a, client.Preconditions{UID: new(a.GetUID())})
	if kerrors.IsForbidden(err) {
		return nil
	}

	return errors.Wrapf(client.IgnoreNotFound(err), "cannot delete the Approval %q", a.GetName())
}

// judge takes the Approvals of an object into the situation, and their decision into the status. It deletes used
// Approvals: their digest has the id of an earlier check, so that they cannot approve anything any more. Composed
// Approvals have no effect, which an event says.
func (e *external) judge(ctx context.Context, run common.AnsibleRun) error {
	o, was := run.Observation(), run.Observation().Approval

	e.Recorded = *o

	if e.Approvals.Required = e.inputs.Approval; e.Approvals.Required {
		e.Approvals.Metadata = runner.ObjectOf(run).Digest(e.digestKey)
	}

	// Without inputs, no run starts.
	if e.err != nil || !e.Approvals.Required && was == nil {
		return nil //nolint:nilerr // The inputs' error is reported elsewhere.
	}

	e.Approvals.Key, e.Approvals.Command = e.digestKey, e.command(run)

	all, err := e.approvalsOf(ctx, run)
	if err != nil {
		return err
	}

	e.Approvals.Decided = slices.DeleteFunc(slices.Clone(all), isComposed)
	e.Recorded.Approval = lifecycle.Judge(e.Situation)
	o.Approval = e.Recorded.Approval

	e.announceVerdict(run, was)

	for _, a := range all {
		switch {
		case o.Approval == nil, a.Decided().Digest != o.Approval.Digest:
		case isComposed(a):
			e.recorder.Event(run, event.Warning(ReasonIgnored, errors.Errorf(
				"the Approval %q has no effect: a Composition or an Operation has made it, and people approve", a.GetName())))
		case e.recorded && o.Approval.State == common.ApprovalApplied:
			if err := e.deleteApproval(ctx, a); err != nil {
				e.recorder.Event(run, event.Warning(ReasonCannotDelete, err))
			}
		}
	}

	return nil
}

// labelComposite is the label that Crossplane sets on composed resources.
const labelComposite = "crossplane.io/composite"

// isComposed is true for an Approval that Crossplane has applied for a Composition or an Operation. It has no effect,
// since their authors would act with the rights of Crossplane.
func isComposed(a common.Approval) bool {
	if _, labeled := a.GetLabels()[labelComposite]; labeled || metav1.GetControllerOf(a) != nil {
		return true
	}

	return slices.ContainsFunc(a.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return strings.HasPrefix(e.Manager, "apiextensions.crossplane.io/") ||
			strings.HasPrefix(e.Manager, "ops.crossplane.io/")
	})
}

// announceVerdict emits an event with the author of a new decision.
func (e *external) announceVerdict(run common.AnsibleRun, was *common.ApprovalObservation) {
	a := run.Observation().Approval
	if a == nil || was != nil && was.Digest == a.Digest && (was.State == a.State || a.State == common.ApprovalApplied) {
		return
	}

	text := fmt.Sprintf("digest %s, by %s", a.Digest, a.By)
	if a.Reason != "" {
		text += ": " + a.Reason
	}

	switch a.State {
	case common.ApprovalApproved:
		e.recorder.Event(run, event.Normal(ReasonApproved, text))
	case common.ApprovalRejected:
		e.recorder.Event(run, event.Normal(ReasonRejected, text))
	case common.ApprovalAwaiting, common.ApprovalApplied:
	}
}

// command returns the command that approves the awaited digest of an AnsibleRun.
func (e *external) command(run common.AnsibleRun) string {
	c := fmt.Sprintf("kubectl ansible approve %s.%s/%s", strings.ToLower(e.kind.Kind), e.kind.Group, run.GetName())
	if ns := run.GetNamespace(); ns != "" {
		c += " -n " + ns
	}

	return c
}

func historyLimit(run common.AnsibleRun) int {
	if l := run.Parameters().HistoryLimit; l != nil {
		return min(int(*l), common.MaxHistoryLimit)
	}

	return common.DefaultHistoryLimit
}

// watchApprovals reconciles the AnsibleRun of an Approval that was created or changed.
func watchApprovals(ctx context.Context, mgr ctrl.Manager, k schema.GroupVersionKind, b *builder.Builder) error {
	approval := newOf[client.Object](mgr.GetScheme(), k, common.KindApproval)

	err := mgr.GetFieldIndexer().IndexField(ctx, approval, fieldRun, func(o client.Object) []string {
		if a, ok := o.(common.Approval); ok {
			return []string{a.Decided().RunRef.Name}
		}

		return nil
	})
	if err != nil {
		return errors.Wrap(err, "cannot index Approvals by their AnsibleRuns")
	}

	b.Watches(approval, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		a, ok := o.(common.Approval)
		if !ok {
			return nil
		}

		return []reconcile.Request{
			{NamespacedName: types.NamespacedName{Namespace: a.GetNamespace(), Name: a.Decided().RunRef.Name}},
		}
	}))

	return nil
}
