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

// ReasonAdopted says that the first apply of an object was recorded, and not run.
const ReasonAdopted event.Reason = "Adopted"

// external is one reconcile of one AnsibleRun.
type external struct {
	*connector

	// digestKey is the key of the digests of this object.
	digestKey []byte
	// inputs, and the request for the content that they require; err is the mistake in
	// them, if there is any.
	inputs  inputs.Inputs
	request content.Request
	err     error

	// Situation that Observe has found, and what it has decided.
	lifecycle.Situation

	decision lifecycle.Decision
	// shown is the run that the status showed when it was read; nil if it showed none.
	shown *common.Run
	// report of the pool; the zero value if it knows no run.
	report runs.Report
	// recorded is true when the object has the result of a run since the last reconcile.
	recorded bool
	// refused says why connection details could not be published; nil if they were.
	refused error
	// unwatched says why dependents are not watched; nil if they are, or need not be.
	unwatched error
	// resolution of the requirements, and the content that a run would use.
	resolution content.Resolution
	content    content.Set
}

// Observe finds what is known, decides, tells the pool what is wanted, and shows what follows, each once. It writes
// nothing to the object: the reconciler does. What is known is the report of the pool, which the status takes over, the
// inputs, and Approvals.
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

	// Its inputs are known once its content is installed.
	if err == nil && lifecycle.Adopts(e.Situation) && e.resolution.Found {
		o.UID = run.GetUID()
		lifecycle.Adopt(o, e.Digest, e.Request, e.newID(), e.Now)
		e.Recorded = *o
		e.recorder.Event(run, event.Normal(ReasonAdopted, "the first apply is recorded, and not run, as an annotation says"))
	}

	e.decision = lifecycle.Decide(e.Situation)

	if err != nil {
		e.decision = lifecycle.Decision{Cancel: e.decision.Cancel} // Nothing can be decided but that a run is to end.
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

	// The runtime has nothing to create or update: the status says what runs.
	return managed.ExternalObservation{ResourceExists: e.decision.Exists || !e.Deleted, ResourceUpToDate: true}, nil
}

// want tells the pool what was decided, shows in the status what the pool makes of it, and returns the run that is
// active now. Unknown is true if it cannot be told what is wanted, for example without inputs: then nothing begins that
// has not.
func (e *external) want(run common.AnsibleRun, unknown bool) *lifecycle.Active {
	// While others hold an object that is deleted nothing is written to it.
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

	// A run that has ended meanwhile wakes the object, and is recorded as a whole.
	if !r.Run.Phase.Finished() {
		lifecycle.Record(run.Observation(), r)
	}

	return &lifecycle.Active{Run: r.Run, Queued: !begun}
}

// keeps is true for a run that waits, about which nothing can be decided, and that may begin all the same: the object
// was not edited since, its window is not closed by now, and no approval may be withdrawn. An approved deletion goes
// on, since its inputs may never be known again.
func (e *external) keeps(run common.AnsibleRun) bool {
	a, r := e.Recorded.Approval, e.report
	approved := !e.Deleted && r.Run.Mode == common.ModeApply && a != nil && a.State == common.ApprovalApproved

	return !approved && r.Generation == run.GetGeneration() && !lifecycle.Closed(e.Situation, r.Run)
}

// Create is not called: Observe starts what is to run.
func (e *external) Create(context.Context, common.AnsibleRun) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, nil
}

// Update is not called either.
func (e *external) Update(context.Context, common.AnsibleRun) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, nil
}

// Delete shows what becomes of the run with state absent that Observe has decided on.
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

	// A deletion run that has failed may fail again: then the condition stays.
	if run.GetCondition(common.TypeDeletable).Reason != common.ReasonRunFailed && !unapproved {
		restore(run, common.Deletable())
	}

	return managed.ExternalDelete{}, nil
}

// Disconnect does nothing: there is no connection.
func (e *external) Disconnect(context.Context) error { return nil }

// newRun is the one that is to be started. It keeps the id of the one that waits.
func (e *external) newRun(run common.AnsibleRun, st lifecycle.Start) runs.Run {
	request, _ := meta.GetReconcileRequest(run)
	_, watched := watchedUntil(run, e.now())
	o := run.Observation()

	id := e.newID()
	if e.Waits() {
		id = e.Active.ID
	}

	// A run is started under a policy, or for an object that is being deleted.
	policy, _ := lifecycle.PolicyOf(run)

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
