package controller

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/calendar"
	"github.com/crossplane-ansible/crossplane-ansible/provider/config"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/lifecycle"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// recordReport records the report of the pool in the status. The pool forgets a finished run once the object that was
// read has its result. The status is set back to that before a run that waits for its turn or for its Pod, so that the
// decision does not depend on it.
func (e *external) recordReport(ctx context.Context, run common.AnsibleRun) {
	o := run.Observation()
	e.shown = o.LastRun.DeepCopy()

	e.follow(ctx, run)

	report, known := e.Pool.Report(run.GetUID())
	if known && recorded(run, report) {
		e.Pool.Recorded(run.GetUID(), report.Run.ID)

		known, e.recorded = false, true
	}

	// A stopping pool follows no more runs. The next provider follows the run.
	if !known && inProgress(o.LastRun) {
		e.Active = &lifecycle.Active{Run: *o.LastRun}
		return
	}

	// A recorded apply has already installed its content, or begun.
	waits := known && (report.Waits || report.Plan != "" && !report.Run.Phase.Finished() &&
		(o.LastApply == nil || o.LastApply.ID != report.Run.ID))

	switch last := o.LastRun; {
	case last == nil:
	case waits && last.ID == report.Run.ID:
		lifecycle.Restore(o, report.Before)
	case last.StartTime == nil && !last.Phase.Finished() && (!known || last.ID != report.Run.ID):
		// The pool does not know the waiting run any more.
		waited := runs.Report{Run: *last, Waits: true}
		lifecycle.Record(o, waited.Interrupted(e.now()))
	}

	if !known {
		return
	}

	e.report, e.Active = report, &lifecycle.Active{Run: report.Run, Queued: waits}

	if waits || report.Attaching {
		return
	}

	o.UID = run.GetUID()
	lifecycle.Record(o, report)
	lifecycle.Remember(o, historyLimit(run))

	if report.Run.Trigger != common.TriggerPreview {
		*run.Conditions() = lifecycle.Conditions(*run.Conditions(), report)
	}

	showState(run, report)
}

// follow follows the run in progress in the status, which the predecessor has begun. A run in a Pod may still be in
// progress, any other has ended. The namespace of the Pod comes from the configuration, since other clients may edit
// the status.
func (c *connector) follow(ctx context.Context, run common.AnsibleRun) {
	o := run.Observation()

	last := o.LastRun
	if !inProgress(last) {
		return
	}

	policy, _ := lifecycle.PolicyOf(run) // Only a deleted object may have an invalid policy.

	r := runs.Run{
		Spec: runner.Spec{
			ID: last.ID, Mode: last.Mode, State: last.State, Trigger: last.Trigger, Object: runner.ObjectOf(run),
			Attempt: lifecycle.AttemptsBefore(o) + 1, KeepOutput: keepsOutput(run),
			Inputs: inputs.Inputs{Parameters: common.AnsibleRunParameters{RetryLimit: run.Parameters().RetryLimit}},
		},
		Kind: c.kind, Policy: policy, Begun: last.DeepCopy(),
		Before:    runs.Before{Content: o.Content.DeepCopy()},
		DigestKey: inputs.ObjectKey(c.Key, run.GetUID()),
	}

	if last.Pod != nil {
		namespace, err := c.Resolver.PodNamespace(ctx, run)
		if err != nil {
			return // The run counts as in progress until the namespace is known.
		}

		r.Inputs.Execution = common.Execution{Place: common.PlacePod, Namespace: namespace}
		r.Begun.Pod = r.Pod()
	}

	c.Pool.Follow(r, c.waker(run))
}

// inProgress is true for a run in the status that has begun or is about to begin, and has not ended.
func inProgress(r *common.Run) bool { return r != nil && r.StartTime != nil && !r.Phase.Finished() }

// recorded is true when the object has the result of a run, and its connection details were published.
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

// situate sets the situation, except for the report of the pool. The error is about invalid inputs.
func (e *external) situate(ctx context.Context, run common.AnsibleRun) (err error) {
	p := run.Parameters()
	request, _ := meta.GetReconcileRequest(run)

	e.Situation = lifecycle.Situation{
		Create:     allows(run, xpv2.ManagementActionCreate),
		Update:     allows(run, xpv2.ManagementActionUpdate),
		Deleted:    meta.WasDeleted(run),
		Keeps:      p.OnDelete.Keeps(),
		Unaware:    unaware(run),
		Adopt:      run.GetAnnotations()[common.AnnotationAdopt] == "true",
		Held:       len(run.GetFinalizers()) > 1,
		Generation: run.GetGeneration(),
		RetryLimit: int64(ptr.Deref(p.RetryLimit, 0)),
		Request:    request,
		Canceled:   run.GetAnnotations()[common.AnnotationCancel],
		Recorded:   *run.Observation(),
		Active:     e.Active,
		Poll:       e.schedule.interval(run),
		Least:      e.schedule.least,
		Now:        e.now(),
	}
	e.content = content.Known(run.Observation().Content)

	var errs field.ErrorList
	if e.Calendar, errs = calendar.New(p.Schedule, p.Window); len(errs) > 0 {
		// A deletion ignores an invalid calendar.
		e.Calendar = calendar.Calendar{}
	}

	switch {
	case e.Deleted:
		e.Dependents.Stop(run.GetUID())

		return e.readDeleted(ctx, run)
	case e.err != nil:
		return e.err
	case len(errs) > 0:
		return errors.Wrap(errs.ToAggregate(), "spec.forProvider is invalid")
	}

	if e.Policy, err = lifecycle.PolicyOf(run); err != nil {
		return err
	}

	// Dependents are not watched during a run. The trigger of a waiting run tells that they were changed.
	e.Drifted, e.unwatched = e.watchDependents(run)
	e.Drifted = e.Drifted || e.Waits() && e.Active.Trigger == common.TriggerDependents

	if e.resolution = e.resolve(run, e.content); e.resolution.Found {
		e.content = e.resolution.Set
	}

	if e.Digest, err = e.digest(e.content); err != nil {
		return err
	}

	e.Recorded = lifecycle.Rebase(e.Situation, run.GetCondition(xpv2.TypeReady))
	*run.Observation() = e.Recorded
	e.Unpublished, e.refused = e.publish(ctx, run, e.report)

	return nil
}

// readDeleted resolves the inputs of a deleted object, if a run may start. They may be gone, which Delete reports.
func (e *external) readDeleted(ctx context.Context, run common.AnsibleRun) (err error) {
	if e.Keeps || e.InProgress() {
		return nil
	}

	if e.inputs, e.err = e.Resolver.Resolve(ctx, run); e.err != nil || !e.inputs.Approval {
		return nil //nolint:nilerr // Delete reports the error.
	}

	e.Digest, err = e.digest(e.content)

	return err
}

// resolve returns the resolution of the requirements in the store. A run in a Pod resolves them itself: for it, the
// content in the status counts.
func (e *external) resolve(run common.AnsibleRun, known content.Set) content.Resolution {
	if e.inputs.Execution.Place == common.PlacePod {
		return content.Resolution{Set: known, Found: true}
	}

	e.request.Tenant = runner.ObjectOf(run).Tenant()

	return e.Contents.Resolution(e.request)
}

// rejectInputs sets the condition Ready for invalid inputs: the object is not ready if the spec was changed since it
// became ready.
func (e *external) rejectInputs(ctx context.Context, run common.AnsibleRun, err error) {
	// A watch reports when missing inputs, such as a Secret, appear. Retries of thousands of objects would only load the
	// provider and the API server.
	if config.IsMissing(err) {
		after := max(e.schedule.interval(run), leastMissing)
		nextLook(ctx, after, handler.LowPriority, true)
	}

	was := run.GetCondition(xpv2.TypeReady)
	if was.ObservedGeneration == run.GetGeneration() {
		return
	}

	now := common.NotReady(common.ReasonInputsChanged)
	if o := run.Observation(); o.AppliedDigest == "" && o.LastApply == nil {
		now = xpv2.Creating()
	}

	set(run, now)
}

func (e *external) digest(set content.Set) (string, error) {
	return e.inputs.Digest(e.digestKey, set.Collections, set.Roles, set.Project)
}

// allows is true when the management policies allow an action.
func allows(run common.AnsibleRun, a xpv2.ManagementAction) bool {
	policies := run.GetManagementPolicies()

	return len(policies) == 0 || slices.Contains(policies, a) || slices.Contains(policies, xpv2.ManagementActionAll)
}
