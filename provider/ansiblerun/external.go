package ansiblerun

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/job"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// external is one reconcile of one AnsibleRun.
type external struct {
	*connector

	// digestKey is the object's own.
	digestKey  []byte
	inputs     inputs.Inputs
	request    content.Request
	err        error
	resolution content.Resolution
	content    content.Set
	decision   decision
	details    managed.ConnectionDetails
}

// Observe brings the status up to date with what the pool knows, and decides
// what is to be done. It changes nothing but the object in memory, and starts
// nothing but check runs.
func (e *external) Observe(ctx context.Context, run common.AnsibleRun) (managed.ExternalObservation, error) {
	e.keepOutput(ctx, run)

	active := e.observe(run)

	s, err := e.situation(run, active)
	if err != nil {
		return managed.ExternalObservation{}, e.mistaken(run, err)
	}

	if !s.Deleted {
		s.Recorded = rebaselined(s, run.GetCondition(xpv2.TypeReady))
		*run.Observation() = s.Recorded
		run.SetConditions(ready(s, run.GetCondition(xpv2.TypeReady)).WithObservedGeneration(run.GetGeneration()))
		showCheckable(run, s)
		showContent(run, e.resolution)

		if err := e.refresh(run, s); err != nil {
			return managed.ExternalObservation{}, err
		}
	}

	e.decision = decide(s)

	if e.decision.Exhausted {
		run.Observation().LastApply.NextRetryTime = nil
	}

	e.polls.set(run.GetUID(), lookAgain(e.decision.Until, e.resolution.Due, s.Now, s.Poll))
	e.wakeAt(run, e.decision.Until)

	if e.decision.Withdraw {
		e.pool.Withdraw(run.GetUID())
	}

	if e.decision.Failure != nil && !s.Deleted {
		return managed.ExternalObservation{}, e.decision.Failure
	}

	checks := e.decision.Start != nil && e.decision.Start.Mode == common.ModeCheck
	if checks {
		if err := e.submit(run); err != nil {
			return managed.ExternalObservation{}, err
		}
	}

	return managed.ExternalObservation{
		ResourceExists:    e.decision.Exists,
		ResourceUpToDate:  checks || e.decision.Start == nil,
		ConnectionDetails: e.details,
	}, nil
}

// showCheckable says when check runs cannot tell anything, and when they can
// again.
func showCheckable(run common.AnsibleRun, s situation) {
	switch {
	case s.Active != nil && !s.Active.Finished:
		// It is not known yet what this run can tell.
	case s.Policy == common.CheckWhenObserve && notCheckable(s):
		run.SetConditions(common.NotCheckable().WithObservedGeneration(run.GetGeneration()))
	case run.GetCondition(common.TypeCheckable).Status == corev1.ConditionFalse:
		run.SetConditions(common.Checkable().WithObservedGeneration(run.GetGeneration()))
	}
}

// observe folds what the pool knows into the observation. The pool forgets a
// finished run once the object that was read back carries it.
func (e *external) observe(run common.AnsibleRun) *active {
	o := run.Observation()

	report, known := e.pool.Report(run.GetUID())
	if known && recorded(run, report) {
		e.pool.Forget(run.GetUID(), report.Run.ID)

		known = false
	}

	if !known {
		if interrupt(o, e.now()) {
			e.lost(run)
		}

		return nil
	}

	record(o, report)
	*run.Conditions() = conditions(*run.Conditions(), report)

	if report.Run.Mode == common.ModeApply && report.Run.State == common.StatePresent {
		e.details = report.ConnectionDetails
	}

	return &active{
		Mode:     report.Run.Mode,
		State:    report.Run.State,
		Queued:   report.Run.Phase == common.PhaseQueued,
		Finished: report.Run.Phase.Finished(),
		Request:  report.Request,
	}
}

// lost tells of a run that had begun and was interrupted.
func (e *external) lost(run common.AnsibleRun) {
	o := run.Observation()
	r := job.Report{Run: *o.LastRun, Attempt: 1}

	// A status that could not be written is read again as it was.
	if r.Run.StartTime == nil || !e.polls.first(run.GetUID(), r.Run.ID) {
		return
	}

	if o.LastApply != nil && o.LastApply.ID == r.Run.ID {
		r.Attempt = o.LastApply.Attempts
	}

	policy, _ := policyOf(run)
	j := job.Job{
		ID: r.Run.ID, Mode: r.Run.Mode, State: r.Run.State, Trigger: r.Run.Trigger, Policy: policy,
		Kind: e.kind, Object: runner.ObjectOf(run), Inputs: inputs.Inputs{Parameters: *run.Parameters()},
	}

	e.witness.Ended(j, r, completion(&r.Run).Sub(r.Run.StartTime.Time))
}

// recorded is true when the object carries the result of a run, and its
// connection details were published: the reconcile that did so succeeded.
func recorded(run common.AnsibleRun, r job.Report) bool {
	last := run.Observation().LastRun
	if last == nil || last.ID != r.Run.ID || !last.Phase.Finished() {
		return false
	}

	return len(r.ConnectionDetails) == 0 || run.GetCondition(xpv2.TypeSynced).Status == corev1.ConditionTrue
}

func (e *external) situation(run common.AnsibleRun, a *active) (situation, error) {
	p := run.Parameters()

	s := situation{
		Deleted:    meta.WasDeleted(run),
		Generation: run.GetGeneration(),
		Begun:      begun(run),
		Recorded:   *run.Observation(),
		Active:     a,
		Poll:       e.polls.interval(run),
		Now:        e.now(),
	}

	if p.RetryLimit != nil {
		s.RetryLimit = int64(*p.RetryLimit)
	}

	s.Create = may(run, xpv2.ManagementActionCreate)
	s.Update = may(run, xpv2.ManagementActionUpdate)
	s.Request, _ = meta.GetReconcileRequest(run)

	if s.Deleted {
		e.content = known(run.Observation())
		return s, nil
	}

	if e.err != nil {
		return s, e.err
	}

	policy, err := policyOf(run)
	if err != nil {
		return s, err
	}

	s.Policy = policy
	if err := e.resolve(run); err != nil {
		return s, err
	}

	s.Digest, err = e.digest(e.content)

	return s, err
}

// mistaken reports inputs that cannot be run. An object whose spec was changed
// since it became ready is not ready any more.
func (e *external) mistaken(run common.AnsibleRun, err error) error {
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

// Create applies the content for the first time.
func (e *external) Create(_ context.Context, run common.AnsibleRun) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, e.submit(run)
}

// Update applies the content again.
func (e *external) Update(_ context.Context, run common.AnsibleRun) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, e.submit(run)
}

// Delete runs the content with state absent.
func (e *external) Delete(ctx context.Context, run common.AnsibleRun) (managed.ExternalDelete, error) {
	d := e.decision

	if d.Cancel {
		e.pool.Cancel(run.GetUID())
	}

	if d.Failure != nil {
		stuck := common.DeletionFailed(d.Failure)
		if d.Exhausted {
			stuck = common.GaveUpDeleting(d.Failure)
		}

		run.SetConditions(stuck.WithObservedGeneration(run.GetGeneration()))

		return managed.ExternalDelete{}, d.Failure
	}

	if d.Start == nil {
		return managed.ExternalDelete{}, nil
	}

	in, err := e.resolver.Resolve(ctx, run)
	if err != nil {
		run.SetConditions(common.CannotDelete(err).WithObservedGeneration(run.GetGeneration()))
		return managed.ExternalDelete{}, err
	}

	e.inputs = in

	// One that has failed may fail again.
	if c := run.GetCondition(common.TypeDeletable); c.Status == corev1.ConditionFalse && c.Reason != common.ReasonRunFailed {
		run.SetConditions(common.Deletable().WithObservedGeneration(run.GetGeneration()))
	}

	return managed.ExternalDelete{}, e.submit(run)
}

// Disconnect does nothing: there is no connection.
func (e *external) Disconnect(context.Context) error { return nil }

// submit the run that was decided on, and show it in the status.
func (e *external) submit(run common.AnsibleRun) error {
	st := e.decision.Start
	if st == nil {
		return nil
	}

	j := e.job(run, *st)
	name := types.NamespacedName{Namespace: run.GetNamespace(), Name: run.GetName()}

	if err := e.pool.Submit(j, func() { e.wake(name) }); err != nil {
		return errors.Wrap(err, "cannot start a run")
	}

	e.observe(run)

	return nil
}

func (e *external) job(run common.AnsibleRun, st start) job.Job {
	request, _ := meta.GetReconcileRequest(run)
	// A run is started under a policy, or for an object that is being deleted.
	policy, _ := policyOf(run)

	j := job.Job{
		ID:         e.newID(),
		Mode:       st.Mode,
		State:      st.State,
		Trigger:    st.Trigger,
		Attempt:    st.Attempt,
		Request:    request,
		Policy:     policy,
		Object:     runner.ObjectOf(run),
		Kind:       e.kind,
		Before:     before(run.Observation()),
		Inputs:     e.inputs,
		Known:      e.content,
		Timeout:    e.timeout,
		KeepOutput: keepsOutput(run),
	}

	if t := run.Parameters().Timeout; t != nil {
		j.Timeout = t.Duration
	}

	// The reconciler writes the object while the job is carried out.
	generation := run.GetGeneration()

	j.Digest = func(set content.Set) string {
		if st.State == common.StateAbsent {
			return absentDigest(generation)
		}

		// It was computed before, or there would be no job.
		digest, _ := e.digest(set)

		return digest
	}

	return j
}

func (e *external) digest(set content.Set) (string, error) {
	return e.inputs.Digest(e.digestKey, set.Collections, set.Roles)
}

// wakeAt wakes the object at a time where the reconciler would not: errors and
// deletions requeue it at other times.
func (e *external) wakeAt(run common.AnsibleRun, at time.Time) {
	if at.IsZero() || e.decision.Failure == nil && !meta.WasDeleted(run) {
		return
	}

	name := types.NamespacedName{Namespace: run.GetNamespace(), Name: run.GetName()}
	e.polls.wakeAt(run.GetUID(), at.Sub(e.now()), func() { e.wake(name) })
}

// known is the content that was resolved for the object before.
func known(o *common.AnsibleRunObservation) content.Set {
	c := o.Content.DeepCopy()
	if c == nil {
		return content.Set{}
	}

	return content.Set{Digest: c.Digest, Collections: c.Collections, Roles: c.Roles}
}

// before is what was known before a run.
func before(o *common.AnsibleRunObservation) job.Before {
	return job.Before{Run: o.LastRun.DeepCopy(), Applied: o.AppliedDigest, Drift: o.Drift.DeepCopy(), Content: known(o)}
}

// begun is true when the object was about to be created once. That is noted
// before a run is started; a run that was started is noted a little later.
func begun(run common.AnsibleRun) bool {
	return !meta.GetExternalCreatePending(run).IsZero()
}

// may is true when the management policies allow an action.
func may(run common.AnsibleRun, a xpv2.ManagementAction) bool {
	policies := run.GetManagementPolicies()
	if len(policies) == 0 {
		return true
	}

	for _, p := range policies {
		if p == a || p == xpv2.ManagementActionAll {
			return true
		}
	}

	return false
}
