package controller

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/lifecycle"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/telemetry"
)

// ReasonAdopted is the reason of events about a first apply that was recorded without a run.
const ReasonAdopted event.Reason = "Adopted"

// external is the external client of one reconcile of one AnsibleRun.
type external struct {
	*connector

	// digestKey is the key of the digests of this object.
	digestKey []byte
	// inputs, and the request for their content; err is an error in them, or nil.
	inputs  inputs.Inputs
	request content.Request
	err     error

	// Situation is the one that Observe has found, and decision its decision.
	lifecycle.Situation

	decision lifecycle.Decision
	// shown is the run in the status at its reading; nil for none.
	shown *common.Run
	// report of the pool; the zero value for none.
	report runs.Report
	// recorded is true if the object has received the result of a run since the last reconcile.
	recorded bool
	// refused is the error of publishing connection details; nil for none.
	refused error
	// unwatched is the error of watching dependents; nil for none.
	unwatched error
	// resolution of the requirements, and the content that a run would use.
	resolution content.Resolution
	content    content.Set
}

// Observe collects the situation from the report of the pool, the inputs and the Approvals, decides, passes the wanted
// run to the pool, and sets the status. The reconciler writes the status.
func (e *external) Observe(ctx context.Context, run common.AnsibleRun) (managed.ExternalObservation, error) {
	o := run.Observation()
	lifecycle.Own(o, run.GetUID())
	e.keepOutput(ctx, run)
	e.recordReport(ctx, run)

	err := e.situate(ctx, run)
	if err == nil {
		err = e.judge(ctx, run)
	} else {
		e.rejectInputs(ctx, run, err)
	}

	// The digest of the inputs is known once the content is installed.
	if err == nil && lifecycle.Adopts(e.Situation) && e.resolution.Found {
		o.UID = run.GetUID()
		lifecycle.Adopt(o, e.Digest, e.Request, e.newID(), e.Now)
		e.Recorded = *o
		e.recorder.Event(run, event.Normal(ReasonAdopted, "the first apply is recorded, and not run, as an annotation says"))
	}

	e.decision = lifecycle.Decide(e.Situation)

	if err != nil {
		e.decision = lifecycle.Decision{Cancel: e.decision.Cancel} // With invalid inputs, a run can only be canceled.
	}

	if cause := e.resolution.Err; cause != nil && lifecycle.Adopts(e.Situation) {
		e.decision.Failure = errors.Wrap(cause, "cannot adopt the object before its content is installed")
	}

	if e.Active = e.want(run, err != nil || e.err != nil || e.refused != nil); err != nil {
		return managed.ExternalObservation{}, err
	}

	e.show(ctx, run)

	if e.Unaware && !e.decision.Exists {
		e.recorder.Event(run, event.Warning(telemetry.ReasonNothingRemoved,
			errors.New("nothing was run: "+common.IgnoresState(run.Parameters().StateVariable))))
	}

	if failure := cmp.Or(e.refused, e.decision.Failure); failure != nil && !e.Deleted {
		return managed.ExternalObservation{}, failure
	}

	// The runtime must not call Create or Update: Observe starts runs.
	return managed.ExternalObservation{ResourceExists: e.decision.Exists || !e.Deleted, ResourceUpToDate: true}, nil
}

// want passes the decision to the pool, records the report of the pool in the status, and returns the active run.
// unknown is true if the wanted run is not known, for example without inputs: then no run begins.
func (e *external) want(run common.AnsibleRun, unknown bool) *lifecycle.Active {
	// The status of a deleted object with finalizers of others is not written.
	d, held := e.decision, e.Deleted && e.Held
	w := pool.Want{
		UID: run.GetUID(), Shown: e.shown, Wake: e.waker(run), End: d.Cancel && !held,
		Keep: !e.Waits() || unknown && e.keeps(run),
	}

	if d.Start != nil && !unknown && !held {
		w.Run = new(e.newRun(run, *d.Start))
	}

	r, begun := e.Pool.Want(w)

	switch {
	case e.Runs():
		return e.Active
	case r.Run.ID == "":
		return nil
	}

	run.Observation().UID = run.GetUID()

	// A run that has ended meanwhile wakes the object, and the next reconcile records it completely.
	if !r.Run.Phase.Finished() {
		lifecycle.Record(run.Observation(), r)
	}

	return &lifecycle.Active{Run: r.Run, Queued: !begun}
}

// keeps is true if a waiting run may begin although the wanted run is not known: the object was not edited since, its
// window is open, and no approval may have been withdrawn. An approved deletion goes on, since its inputs may never be
// known again.
func (e *external) keeps(run common.AnsibleRun) bool {
	a, r := e.Recorded.Approval, e.report
	approved := !e.Deleted && r.Run.Mode == common.ModeApply && a != nil && a.State == common.ApprovalApproved

	return !approved && r.Generation == run.GetGeneration() && !lifecycle.Closed(e.Situation, r.Run)
}

// Create is not called: Observe starts runs.
func (e *external) Create(context.Context, common.AnsibleRun) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, nil
}

// Update is not called either.
func (e *external) Update(context.Context, common.AnsibleRun) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, nil
}

// Delete sets the condition Deletable according to the decision of Observe.
func (e *external) Delete(_ context.Context, run common.AnsibleRun) (managed.ExternalDelete, error) {
	d := e.decision

	if d.Failure != nil {
		stuck := common.DeletionFailed(d.Failure)
		if d.Exhausted {
			stuck = common.GaveUpDeleting(d.Failure)
		}

		set(run, stuck)

		return managed.ExternalDelete{}, d.Failure
	}

	reason, message, unapproved := lifecycle.Unapproved(e.Situation)
	if unapproved {
		set(run, common.Unapproved(common.TypeDeletable, reason, message))
	}

	if d.Held {
		set(run, common.WaitingForWindow(common.TypeDeletable, d.Until))
	}

	if d.Start == nil {
		return managed.ExternalDelete{}, nil
	}

	if err := e.err; err != nil {
		set(run, common.CannotDelete(err))

		return managed.ExternalDelete{}, err
	}

	// A deletion run that has failed may fail again: the condition stays.
	if run.GetCondition(common.TypeDeletable).Reason != common.ReasonRunFailed && !unapproved {
		restore(run, common.Deletable())
	}

	return managed.ExternalDelete{}, nil
}

// Disconnect does nothing: there is no connection.
func (e *external) Disconnect(context.Context) error { return nil }

// newRun returns the run to start. It has the id of a waiting run, if any.
func (e *external) newRun(run common.AnsibleRun, st lifecycle.Start) runs.Run {
	request, _ := meta.GetReconcileRequest(run)
	_, watched := watchedUntil(run, e.now())
	o := run.Observation()

	id := e.newID()
	if e.Waits() {
		id = e.Active.ID
	}

	policy, _ := lifecycle.PolicyOf(run) // Only a deleted object may have an invalid policy.

	return runs.Run{
		Spec: runner.Spec{
			ID:         id,
			Mode:       st.Mode,
			State:      st.State,
			Trigger:    st.Trigger,
			Attempt:    st.Attempt,
			Object:     runner.ObjectOf(run),
			Inputs:     e.inputs,
			Timeout:    e.Timeouts.Of(*run.Parameters()),
			KeepOutput: keepsOutput(run) || watched || e.inputs.Execution.Place != common.PlacePod,
			Approved:   st.Approved,
			Content:    e.content,
			Dependents: o.Dependents,
			Reported:   reported(o),
			Withheld:   o.WithheldReported,

			StateIgnored: run.GetCondition(common.TypeStateAware).Status == corev1.ConditionFalse,
		},
		Kind:    e.kind,
		Policy:  policy,
		Request: lifecycle.Request(request, st.Trigger),
		Before: runs.Before{
			Run: o.LastRun.DeepCopy(), Applied: o.AppliedDigest, Drift: o.Drift.DeepCopy(), Content: o.Content.DeepCopy(),
		},
		DigestKey: e.digestKey,
	}
}
