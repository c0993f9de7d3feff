package controller

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/calendar"
	"github.com/crossplane-ansible/crossplane-ansible/provider/config"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/lifecycle"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// load what the decision depends on: the report of the pool, which the status takes over, the inputs, and Approvals.
// The error says why nothing can be decided.
func (e *external) load(ctx context.Context, run common.AnsibleRun) (lifecycle.Situation, error) {
	o := run.Observation()
	lifecycle.Own(o, run.GetUID())
	e.keepOutput(ctx, run)

	s, err := e.situation(ctx, run, e.recordReport(ctx, run))
	if err != nil {
		return s, e.rejectInputs(run, err)
	}

	if !s.Deleted {
		s.Recorded = lifecycle.Rebase(s, run.GetCondition(xpv2.TypeReady))
		*o = s.Recorded

		s.Unpublished, e.refused = e.publish(ctx, run)
	}

	if err := e.judge(ctx, run, &s); err != nil {
		return s, err
	}

	// Its inputs are known once its content is installed.
	if lifecycle.Adopts(s) && e.resolution.Found {
		o.UID = run.GetUID()
		lifecycle.Adopt(o, s.Digest, s.Request, e.newID(), s.Now)
		s.Recorded = *o
		e.recorder.Event(run, event.Normal(ReasonAdopted, "the first apply is recorded, and not run, as an annotation says"))
	}

	return s, nil
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

	j := executor.Job{
		Spec: runner.Spec{
			ID: last.ID, Mode: last.Mode, State: last.State, Trigger: last.Trigger, Object: runner.ObjectOf(run),
			Attempt:    lifecycle.AttemptsBefore(run.Observation()) + 1,
			Inputs:     inputs.Inputs{Execution: common.Execution{Place: common.PlacePod, Namespace: namespace}},
			KeepOutput: keepsOutput(run),
		},
		Kind: c.kind, DigestKey: inputs.ObjectKey(c.key, run.GetUID()),
	}

	r := j.Run()
	r.Run, r.Pod, r.Begun = *last.DeepCopy(), j.Reference(), true
	r.Policy, _ = lifecycle.PolicyOf(run)
	r.RetryLimit, r.Before.Content = run.Parameters().RetryLimit, run.Observation().Content

	c.pool.Follow(r, c.waker(run))
}

// outlives is true for a run in progress that goes on without the provider that began it.
func outlives(r *common.Run) bool {
	// A status that others have written may have an id that no Pod has in its name: nothing would ever tell of it.
	return r != nil && r.Pod != nil && r.StartTime != nil && !r.Phase.Finished() &&
		len(validation.IsDNS1123Label(r.ID)) == 0
}

// announceInterrupted tells the observer of a run that had begun and was interrupted.
func (e *external) announceInterrupted(run common.AnsibleRun, last common.Run) {
	o := run.Observation()
	r := runs.Report{Run: last, Attempt: 1}

	// A status that could not be written shows the run as in progress again.
	if r.Run.StartTime == nil || !e.schedule.announce(run.GetUID(), r.Run.ID) {
		return
	}

	if o.LastApply != nil && o.LastApply.ID == r.Run.ID {
		r.Attempt = o.LastApply.Attempts + 1 // Interrupt has taken this attempt off.
	}

	policy, _ := lifecycle.PolicyOf(run)
	i := runs.Run{
		Run: last, Object: executor.ObjectOf(runner.ObjectOf(run), e.kind), Policy: policy,
		RetryLimit: run.Parameters().RetryLimit,
	}

	e.observer.Ended(i, r, lifecycle.Completion(&r.Run).Sub(r.Run.StartTime.Time))
}

// recorded is true when the object carries the result of a run, and its
// connection details were published: the reconcile that did so succeeded.
func recorded(run common.AnsibleRun, r runs.Report) bool {
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

// readDeleted reads the inputs of an object that is deleted, if a run may be started. They may be
// gone: that is for Delete to report.
func (e *external) readDeleted(ctx context.Context, run common.AnsibleRun, s *lifecycle.Situation) error {
	if s.Runs() && !s.Active.Finished && e.waiting == nil {
		return nil
	}

	if e.inputs, e.err = e.resolver.Resolve(ctx, run); e.err != nil || !e.inputs.Approval {
		return nil //nolint:nilerr // Delete reports it.
	}

	var err error

	s.Digest, err = e.digest(content.Known(run.Observation().Content))

	return err
}

// resolve the requirements to the content that a run would use: the set in the store, or
// else the set that the object's status has. A run in a Pod resolves them itself.
func (e *external) resolve(run common.AnsibleRun) {
	e.content = content.Known(run.Observation().Content)
	if e.inputs.Execution.Place == common.PlacePod {
		e.resolution = content.Resolution{Set: e.content, Found: true, Resolved: e.content.Resolved}
		return
	}

	e.request.Known = e.content
	e.request.Tenant = runner.ObjectOf(run).Tenant()

	e.resolution = e.contents.Resolution(e.request)
	if e.resolution.Found {
		e.content = e.resolution.Set
	}
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

func (e *external) digest(set content.Set) (string, error) {
	return e.inputs.Digest(e.digestKey, set.Collections, set.Roles, set.Project)
}

// allows is true when the management policies allow an action.
func allows(run common.AnsibleRun, a xpv2.ManagementAction) bool {
	policies := run.GetManagementPolicies()

	return len(policies) == 0 || slices.Contains(policies, a) || slices.Contains(policies, xpv2.ManagementActionAll)
}
