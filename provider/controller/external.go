package controller

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/calendar"
	"github.com/crossplane-ansible/crossplane-ansible/provider/config"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/lifecycle"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
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
	// resolution of the request, and the content that a run would use.
	resolution content.Resolution
	content    content.Set
	// shown is the run that the status showed when it was read; nil if it showed none.
	shown *common.Run
	// recorded is true when the object has the result of a run since the last reconcile.
	recorded bool
	// waiting is the report of a run that waits for its Pod, about which is decided anew; nil if there is none.
	waiting *executor.Report
	// decision of this reconcile.
	decision lifecycle.Decision
	// unapproved is the condition Deletable of a deletion run that is not approved; nil for others.
	unapproved *xpv2.Condition
	// details are the connection details that the pool knows of the last apply.
	details map[string][]byte
}

// Observe brings the status up to date with what the pool knows, decides what is to be done, tells the pool what is
// wanted, and shows what follows. It writes nothing to the object: the reconciler does.
func (e *external) Observe(ctx context.Context, run common.AnsibleRun) (managed.ExternalObservation, error) {
	lifecycle.Own(run.Observation(), run.GetUID())
	e.keepOutput(ctx, run)

	active := e.recordReport(ctx, run)

	s, err := e.situation(ctx, run, active)
	if err != nil {
		e.wantUndecided(run, s)
		return managed.ExternalObservation{}, e.rejectInputs(run, err)
	}

	if !s.Deleted {
		s.Recorded = lifecycle.Rebase(s, run.GetCondition(xpv2.TypeReady))
		*run.Observation() = s.Recorded

		s.Unpublished, err = e.publish(ctx, run)
	}

	if aerr := e.judge(ctx, run, &s); aerr != nil {
		e.wantUndecided(run, s)
		return managed.ExternalObservation{}, aerr
	}

	e.adopt(run, &s)
	e.decision = lifecycle.Decide(s)
	s.Active = e.wantDecided(run, s, err)

	if !s.Deleted {
		run.SetConditions(lifecycle.Ready(s, run.GetCondition(xpv2.TypeReady)).WithObservedGeneration(run.GetGeneration()))
		showCheckable(run, s)
		showWithheld(run)
		showConfined(run)
		showContent(run, e.resolution)

		if err != nil {
			return managed.ExternalObservation{}, err
		}

		e.refresh(run, s)
	}

	e.watchDependents(run, s)
	e.showApproval(run, s)

	if e.decision.Exhausted {
		run.Observation().LastApply.NextRetryTime = nil
	}

	until := lookAgain(e.decision.Until, e.resolution.Due, s.Now, s.Poll)
	e.schedule.set(run.GetUID(), lookAgain(until, expires(run), s.Now, s.Poll))
	e.wakeAt(run, s.Active, e.decision.Until)

	if e.decision.Failure != nil && !s.Deleted {
		return managed.ExternalObservation{}, e.decision.Failure
	}

	// The runtime has nothing to create or update: the status says what runs.
	return managed.ExternalObservation{ResourceExists: e.decision.Exists || !s.Deleted, ResourceUpToDate: true}, nil
}

// adoptAgain is when an object is looked at again that is to be adopted once its content is installed.
const adoptAgain = 5 * time.Second

// adopt an object: its target is as its spec says. Its inputs are known once its content is installed.
func (e *external) adopt(run common.AnsibleRun, s *lifecycle.Situation) {
	if !lifecycle.Adopts(*s) || !e.resolution.Found {
		return
	}

	o := run.Observation()
	o.UID = run.GetUID()
	lifecycle.Adopt(o, s.Digest, s.Request, e.newID(), s.Now)
	s.Recorded = *o
	e.recorder.Event(run, event.Normal(ReasonAdopted, "the first apply is recorded, and not run, as an annotation says"))
}

// wantDecided tells the pool what was decided, and shows what it has: the run that is active now. With an error about
// something else nothing begins that has not.
func (e *external) wantDecided(run common.AnsibleRun, s lifecycle.Situation, err error) *lifecycle.Active {
	d := e.decision
	w := pool.Want{End: d.Cancel && (!s.Deleted || !s.Held)}

	// A deletion may lack its inputs. While others hold an object that is deleted nothing is written to it.
	if st := d.Start; st != nil && e.err == nil && (!s.Deleted || !s.Held) {
		w.Job = new(e.newJob(run, *st))
	}

	switch {
	case e.waiting == nil:
	case e.err != nil:
		w.Drop = drops(run, s, *e.waiting)
	default:
		w.Drop = w.Job == nil || w.Job.Plan() != e.waiting.Plan
	}

	if err != nil {
		w.Job = nil
	}

	r, begun := e.want(run, w)

	switch {
	case s.Runs():
		return s.Active
	case r.Run.ID == "":
		return nil
	case !begun && r.Run.StartTime != nil && lifecycle.Adopts(s):
		// Its content is installed by now, or cannot be.
		e.want(run, pool.Want{})
		e.decision.Until = s.Now.Add(adoptAgain)

		return nil
	}

	run.Observation().UID = run.GetUID()

	// A run that has ended meanwhile wakes the object, and is recorded as a whole.
	if !r.Run.Phase.Finished() {
		lifecycle.Record(run.Observation(), r)
	}

	return &lifecycle.Active{Mode: r.Run.Mode, State: r.Run.State, Queued: !begun, Finished: r.Run.Phase.Finished()}
}

// wantUndecided tells the pool that nothing can be decided: nothing begins that has not. A run in progress that is not
// wanted any more is ended nevertheless.
func (e *external) wantUndecided(run common.AnsibleRun, s lifecycle.Situation) {
	w := pool.Want{End: lifecycle.Decide(s).Cancel}
	w.Drop = e.waiting != nil && drops(run, s, *e.waiting)

	if r, begun := e.want(run, w); begun && s.Waits() && !r.Run.Phase.Finished() {
		lifecycle.Record(run.Observation(), r)
	}
}

func (e *external) want(run common.AnsibleRun, w pool.Want) (r executor.Report, begun bool) {
	w.UID, w.Shown, w.Wake = run.GetUID(), e.shown, e.waker(run)

	return e.pool.Want(w)
}

// drops is true for a run that waits, about which nothing can be decided, and that is not to begin: the object was
// edited since, its window is closed by now, or its approval may be withdrawn. An approved deletion goes on, since its
// inputs may never be known again.
func drops(run common.AnsibleRun, s lifecycle.Situation, w executor.Report) bool {
	a := s.Recorded.Approval
	approved := !s.Deleted && w.Run.Mode == common.ModeApply && a != nil && a.State == common.ApprovalApproved

	return approved || w.Generation != run.GetGeneration() || lifecycle.Closed(s, w.Run)
}

// showCheckable sets the condition Checkable to False when check runs cannot tell anything,
// and back to True when they can again.
func showCheckable(run common.AnsibleRun, s lifecycle.Situation) {
	switch {
	case s.Active != nil && !s.Active.Finished:
		// The run in progress may be a check run that tells more.
	case s.Policy == common.CheckWhenObserve && !s.Approvals.Required && lifecycle.NotCheckable(s):
		run.SetConditions(common.NotCheckable().WithObservedGeneration(run.GetGeneration()))
	case run.GetCondition(common.TypeCheckable).Status == corev1.ConditionFalse:
		run.SetConditions(common.Checkable().WithObservedGeneration(run.GetGeneration()))
	}
}

// showState sets the condition StateAware to False when content would be applied once more by the deletion of its
// object, and back to True when that is not so any more.
func showState(run common.AnsibleRun, r executor.Report) {
	switch {
	case r.Run.Phase != common.PhaseSucceeded:
		// It may not have come as far as its content.
	case r.IgnoresState && allows(run, xpv2.ManagementActionDelete):
		run.SetConditions(common.StateIgnored(run.Parameters().StateVariable).WithObservedGeneration(run.GetGeneration()))
	case run.GetCondition(common.TypeStateAware).Status == corev1.ConditionFalse:
		run.SetConditions(common.MayUseState().WithObservedGeneration(run.GetGeneration()))
	}
}

// showConfined has the condition Confined be there while the last run in the provider was not confined.
func showConfined(run common.AnsibleRun) {
	last := run.Observation().LastRun
	if last == nil || last.Confinement == nil {
		return
	}

	if last.Confinement.Landlock == 0 && last.Pod == nil {
		run.SetConditions(common.NotConfined(*last.Confinement).WithObservedGeneration(run.GetGeneration()))
		return
	}

	*run.Conditions() = slices.DeleteFunc(*run.Conditions(), func(c xpv2.Condition) bool {
		return c.Type == common.TypeConfined
	})
}

// showWithheld has the condition OutputsWithheld be there while outputs are withheld.
func showWithheld(run common.AnsibleRun) {
	if o := run.Observation(); len(o.WithheldOutputs)+len(o.WithheldReported) > 0 {
		run.SetConditions(
			common.OutputsWithheld(o.WithheldOutputs, o.WithheldReported).WithObservedGeneration(run.GetGeneration()))
		return
	}

	*run.Conditions() = slices.DeleteFunc(*run.Conditions(), func(c xpv2.Condition) bool {
		return c.Type == common.TypeOutputsWithheld
	})
}

// recordReport records in the status what the pool knows. The pool forgets a finished run once
// the object that was read from the API server has its result. A run that waits, for its turn or for its Pod, is
// decided about as if it were not there.
func (e *external) recordReport(ctx context.Context, run common.AnsibleRun) *lifecycle.Active {
	o := run.Observation()
	e.shown = o.LastRun.DeepCopy()

	e.follow(ctx, run)

	report, known := e.pool.Report(run.GetUID())
	if known && recorded(run, report) {
		e.pool.Recorded(run.GetUID(), report.Run.ID)

		known, e.recorded = false, true
	}

	// A pool that is stopping follows no more runs. The next provider follows this one.
	if !known && outlives(o.LastRun) {
		return &lifecycle.Active{Mode: o.LastRun.Mode, State: o.LastRun.State}
	}

	// One that was applied before it came to wait has installed its content, or begun.
	if known && report.Plan != "" && !report.Run.Phase.Finished() &&
		(o.LastApply == nil || o.LastApply.ID != report.Run.ID) {
		e.waiting = &report
	}

	waits := known && (report.Waits() || e.waiting != nil)

	if waits && o.LastRun != nil && o.LastRun.ID == report.Run.ID {
		lifecycle.Restore(o, report.Before)
	} else if !known || o.LastRun != nil && o.LastRun.ID != report.Run.ID {
		// The run in the status was interrupted when the pool knows none, or another one.
		if r := lifecycle.Interrupt(o, e.now()); r != nil {
			lifecycle.Remember(o, historyLimit(run))
			e.announceInterrupted(run, *r)
		}
	}

	switch {
	case !known:
		return nil
	case waits:
		return &lifecycle.Active{
			ID: report.Run.ID, Mode: report.Run.Mode, State: report.Run.State, Trigger: report.Run.Trigger, Queued: true,
		}
	case report.Attaching:
		return &lifecycle.Active{Mode: report.Run.Mode, State: report.Run.State}
	}

	o.UID = run.GetUID()
	lifecycle.Record(o, report)
	lifecycle.Remember(o, historyLimit(run))

	if report.Run.Trigger != common.TriggerPreview {
		*run.Conditions() = lifecycle.Conditions(*run.Conditions(), report)
	}

	showState(run, report)

	if report.Run.Mode == common.ModeApply && report.Run.State == common.StatePresent {
		e.details = report.ConnectionDetails
	}

	return &lifecycle.Active{
		Mode:     report.Run.Mode,
		State:    report.Run.State,
		Finished: report.Run.Phase.Finished(),
	}
}

// follow the run in progress that the status shows, if it has a Pod, so that the end
// of the provider that began it was not its own. Others may edit the status: the Pod is where the configuration says.
func (c *connector) follow(ctx context.Context, run common.AnsibleRun) {
	last := run.Observation().LastRun
	if !outlives(last) {
		return
	}

	namespace, err := c.resolver.PodNamespace(ctx, run)
	if err != nil {
		return // The run is in progress until that is known.
	}

	policy, _ := lifecycle.PolicyOf(run)
	j := executor.Job{
		Spec: runner.Spec{
			ID: last.ID, Mode: last.Mode, State: last.State, Trigger: last.Trigger, Object: runner.ObjectOf(run),
			Attempt:    lifecycle.AttemptsBefore(run.Observation()) + 1,
			Inputs:     inputs.Inputs{Execution: common.Execution{Place: common.PlacePod, Namespace: namespace}},
			KeepOutput: keepsOutput(run),
		},
		Policy: policy, Kind: c.kind, Begun: last.DeepCopy(), DigestKey: inputs.ObjectKey(c.key, run.GetUID()),
	}

	c.pool.Follow(j, c.waker(run))
}

// outlives is true for a run in progress that goes on without the provider that began it.
func outlives(r *common.Run) bool {
	return r != nil && r.Pod != nil && r.StartTime != nil && !r.Phase.Finished()
}

// announceInterrupted tells the observer of a run that had begun and was interrupted.
func (e *external) announceInterrupted(run common.AnsibleRun, last common.Run) {
	o := run.Observation()
	r := executor.Report{Run: last, Attempt: 1}

	// A status that could not be written shows the run as in progress again.
	if r.Run.StartTime == nil || !e.schedule.announce(run.GetUID(), r.Run.ID) {
		return
	}

	if o.LastApply != nil && o.LastApply.ID == r.Run.ID {
		r.Attempt = o.LastApply.Attempts + 1 // Interrupt has taken this attempt off.
	}

	policy, _ := lifecycle.PolicyOf(run)
	j := executor.Job{
		Spec: runner.Spec{
			ID: r.Run.ID, Mode: r.Run.Mode, State: r.Run.State, Trigger: r.Run.Trigger,
			Object: runner.ObjectOf(run), Inputs: inputs.Inputs{Parameters: *run.Parameters()},
		},
		Policy: policy, Kind: e.kind,
	}

	e.observer.Ended(j, r, lifecycle.Completion(&r.Run).Sub(r.Run.StartTime.Time))
}

// recorded is true when the object carries the result of a run, and its
// connection details were published: the reconcile that did so succeeded.
func recorded(run common.AnsibleRun, r executor.Report) bool {
	last, p := run.Observation().LastRun, run.Observation().Preview
	if r.Run.Trigger == common.TriggerPreview && p != nil {
		last = &common.Run{ID: p.RunID, Phase: p.Phase}
	}

	if last == nil || last.ID != r.Run.ID || !last.Phase.Finished() {
		return false
	}

	return published(run, r)
}

// situation returns what the decision depends on. The error is about inputs that cannot be
// run.
func (e *external) situation(ctx context.Context, run common.AnsibleRun,
	a *lifecycle.Active,
) (lifecycle.Situation, error) {
	p := run.Parameters()

	s := lifecycle.Situation{
		Deleted:    meta.WasDeleted(run),
		Adopt:      run.GetAnnotations()[common.AnnotationAdopt] == "true",
		Held:       len(run.GetFinalizers()) > 1,
		Generation: run.GetGeneration(),
		Recorded:   *run.Observation(),
		Active:     a,
		Poll:       e.schedule.interval(run),
		Least:      e.schedule.least,
		Now:        e.now(),
	}

	if p.RetryLimit != nil {
		s.RetryLimit = int64(*p.RetryLimit)
	}

	s.Create = allows(run, xpv2.ManagementActionCreate)
	s.Update = allows(run, xpv2.ManagementActionUpdate)
	s.Request, _ = meta.GetReconcileRequest(run)
	s.Canceled = run.GetAnnotations()[common.AnnotationCancel]

	var errs field.ErrorList
	if s.Calendar, errs = calendar.New(p.Schedule, p.Window); len(errs) > 0 {
		// A deletion does not wait for the times of an invalid calendar.
		s.Calendar = calendar.Calendar{}
	}

	if s.Deleted {
		e.content = content.Known(run.Observation().Content)
		return s, e.readDeleted(ctx, run, &s)
	}

	if e.err != nil {
		return s, e.err
	}

	if len(errs) > 0 {
		return s, errors.Wrap(errs.ToAggregate(), "spec.forProvider is invalid")
	}

	policy, err := lifecycle.PolicyOf(run)
	if err != nil {
		return s, err
	}

	s.Policy = policy
	// Dependents are not watched while there is a run. A run that waits tells by its trigger that they were changed.
	s.Drifted = e.drifted(run) || s.Waits() && a.Trigger == common.TriggerDependents
	e.resolve(run)

	s.Digest, err = e.digest(e.content)

	return s, err
}

// rejectInputs returns the error about inputs that cannot be run. If the spec was changed
// since the object became ready, the object is not ready any more.
func (e *external) rejectInputs(run common.AnsibleRun, err error) error {
	if config.IsWatched(err) {
		e.schedule.noteMissing(run)
	}

	was := run.GetCondition(xpv2.TypeReady)
	if was.ObservedGeneration == run.GetGeneration() {
		return err
	}

	now := common.InputsChanged()
	if o := run.Observation(); o.AppliedDigest == "" && o.LastApply == nil {
		now = xpv2.Creating()
	}

	run.SetConditions(now.WithObservedGeneration(run.GetGeneration()))

	return err
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

		run.SetConditions(stuck.WithObservedGeneration(run.GetGeneration()))

		return managed.ExternalDelete{}, d.Failure
	}

	if e.unapproved != nil {
		run.SetConditions(e.unapproved.WithObservedGeneration(run.GetGeneration()))
	}

	if d.Held {
		run.SetConditions(common.WaitingForWindow(common.TypeDeletable, d.Until).WithObservedGeneration(run.GetGeneration()))
	}

	if d.Start == nil {
		return managed.ExternalDelete{}, nil
	}

	if err := e.err; err != nil {
		run.SetConditions(common.CannotDelete(err).WithObservedGeneration(run.GetGeneration()))

		return managed.ExternalDelete{}, err
	}

	// A deletion run that has failed may fail again: then the condition stays.
	if c := run.GetCondition(common.TypeDeletable); c.Status == corev1.ConditionFalse &&
		c.Reason != common.ReasonRunFailed && e.unapproved == nil {
		run.SetConditions(common.Deletable().WithObservedGeneration(run.GetGeneration()))
	}

	return managed.ExternalDelete{}, nil
}

// Disconnect does nothing: there is no connection.
func (e *external) Disconnect(context.Context) error { return nil }

func (e *external) newJob(run common.AnsibleRun, st lifecycle.Start) executor.Job {
	request, _ := meta.GetReconcileRequest(run)
	// A run is started under a policy, or for an object that is being deleted.
	policy, _ := lifecycle.PolicyOf(run)
	_, watched := watchedUntil(run, e.now())

	return executor.Job{
		Spec: runner.Spec{
			ID:         e.newID(),
			Mode:       st.Mode,
			State:      st.State,
			Trigger:    st.Trigger,
			Attempt:    st.Attempt,
			Object:     runner.ObjectOf(run),
			Inputs:     e.inputs,
			Timeout:    e.timeouts.Of(*run.Parameters()),
			KeepOutput: keepsOutput(run) || watched || e.inputs.Execution.Place != common.PlacePod,
			Approved:   st.Approved,
			Dependents: run.Observation().Dependents,
			Reported:   reported(run.Observation()),
			Withheld:   run.Observation().WithheldReported,
		},
		Request: lifecycle.Request(request, st.Trigger),
		Policy:  policy,
		Kind:    e.kind,
		Before:  before(run.Observation()),
		Known:   e.content,

		DigestKey: e.digestKey,
	}
}

func (e *external) digest(set content.Set) (string, error) {
	return e.inputs.Digest(e.digestKey, set.Collections, set.Roles, set.Project)
}

// wakeAt wakes the object at a time when the runtime would not reconcile it: errors and
// deletions requeue the object at other times, and a requeued object with a result to be
// recorded would wait behind those that are polled.
func (e *external) wakeAt(run common.AnsibleRun, a *lifecycle.Active, at time.Time) {
	if at.IsZero() || a == nil && e.decision.Failure == nil && !meta.WasDeleted(run) {
		return
	}

	e.schedule.wakeAt(run.GetUID(), at.Sub(e.now()), e.waker(run))
}

// before is what was known before a run.
func before(o *common.AnsibleRunObservation) executor.Before {
	return executor.Before{
		Run: o.LastRun.DeepCopy(), Applied: o.AppliedDigest, Drift: o.Drift.DeepCopy(),
		Content: content.Known(o.Content),
	}
}

// allows is true when the management policies allow an action.
func allows(run common.AnsibleRun, a xpv2.ManagementAction) bool {
	policies := run.GetManagementPolicies()

	return len(policies) == 0 || slices.Contains(policies, a) || slices.Contains(policies, xpv2.ManagementActionAll)
}
