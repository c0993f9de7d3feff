package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/lifecycle"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// set sets a condition of an object with its present generation.
func set(run common.AnsibleRun, c xpv2.Condition) {
	run.SetConditions(c.WithObservedGeneration(run.GetGeneration()))
}

// restore sets a condition that is False.
func restore(run common.AnsibleRun, c xpv2.Condition) {
	if run.GetCondition(c.Type).Status == corev1.ConditionFalse {
		set(run, c)
	}
}

// drop removes a condition.
func drop(run common.AnsibleRun, t xpv2.ConditionType) {
	*run.Conditions() = slices.DeleteFunc(*run.Conditions(), func(c xpv2.Condition) bool { return c.Type == t })
}

// show sets the conditions after a decision, and requests the next reconcile.
func (e *external) show(ctx context.Context, run common.AnsibleRun) {
	s := e.Situation

	if !s.Deleted {
		set(run, lifecycle.Ready(s, run.GetCondition(xpv2.TypeReady)))
		showCheckable(run, s)
		showWithheld(run)
		showConfined(run)
		showContent(run, e.resolution)

		if saysDeletion(run) {
			restore(run, common.MayUseState())
		}

		e.refresh(run)
	}

	switch {
	case e.unwatched != nil:
		set(run, common.DependentsNotWatched(e.unwatched))
	case !s.Runs():
		restore(run, common.DependentsWatched())
	}

	if c, shown := lifecycle.ShowApproved(s, run.GetCondition(common.TypeApproved)); shown {
		set(run, c)
	}

	if e.decision.Exhausted {
		run.Observation().LastApply.NextRetryTime = nil
	}

	e.lookAgain(ctx, run)
}

// showCheckable sets the condition Checkable to False if checks cannot predict changes, and back to True once they can.
func showCheckable(run common.AnsibleRun, s lifecycle.Situation) {
	switch {
	case s.Active != nil && !s.Active.Phase.Finished():
		// The run in progress may be a check with another result.
	case s.Policy == common.CheckWhenObserve && !s.Approvals.Required && lifecycle.NotCheckable(s):
		set(run, common.NotCheckable())
	default:
		restore(run, common.Checkable())
	}
}

// showState sets the condition StateAware to False if the content ignores the state, so that a deletion would not run
// it, and back to True otherwise.
func showState(run common.AnsibleRun, r runs.Report) {
	switch {
	case r.Run.Phase != common.PhaseSucceeded:
		// The run may not have executed its content.
	case r.IgnoresState && !saysDeletion(run):
		run.SetConditions(common.StateIgnored(run.Parameters().StateVariable).WithObservedGeneration(r.Generation))
	default:
		restore(run, common.MayUseState())
	}
}

// unaware is true for a deleted object with content that is known not to use the state: it was applied, and the spec
// has not changed since. The deletion itself counts as one generation.
func unaware(run common.AnsibleRun) bool {
	c, last := run.GetCondition(common.TypeStateAware), run.Observation().LastApply

	return c.Status == corev1.ConditionFalse && c.ObservedGeneration+1 == run.GetGeneration() &&
		last != nil && last.Result == common.PhaseSucceeded && !saysDeletion(run)
}

// saysDeletion is true for an object with onDelete, or without the management policy Delete.
func saysDeletion(run common.AnsibleRun) bool {
	return run.Parameters().OnDelete != nil || !allows(run, xpv2.ManagementActionDelete)
}

// showConfined sets the condition Confined if the last run in the provider was not confined, and removes it otherwise.
func showConfined(run common.AnsibleRun) {
	switch last := run.Observation().LastRun; {
	case last == nil || last.Confinement == nil:
	case last.Confinement.Landlock == 0 && last.Pod == nil:
		set(run, common.NotConfined(*last.Confinement))
	default:
		drop(run, common.TypeConfined)
	}
}

// showWithheld sets the condition OutputsWithheld while outputs are withheld, and removes it otherwise.
func showWithheld(run common.AnsibleRun) {
	if o := run.Observation(); len(o.WithheldOutputs)+len(o.WithheldReported) > 0 {
		set(run, common.OutputsWithheld(o.WithheldOutputs, o.WithheldReported))
		return
	}

	drop(run, common.TypeOutputsWithheld)
}

// showContent sets the condition ContentUpToDate to False if content could not be resolved again, and back to True
// after the next success.
func showContent(run common.AnsibleRun, r content.Resolution) {
	switch {
	case r.Err != nil:
		set(run, outdated(r))
	case !r.Stale:
		restore(run, common.ContentUpToDate())
	}
}

// outdated returns the condition for content that could not be resolved again. Its message has the error, and the
// content that runs use meanwhile.
func outdated(r content.Resolution) xpv2.Condition {
	serves := "none is installed, so that no run can start"

	switch {
	case r.Found && r.Set.Resolved.IsZero():
		serves = "what is installed goes on serving"
	case r.Found:
		serves = fmt.Sprintf("what was resolved at %s goes on serving", r.Set.Resolved.UTC().Format(time.RFC3339))
	}

	message := fmt.Sprintf("cannot resolve the content again: %s; %s", r.Err, serves)

	var failed *galaxy.InstallError
	if errors.As(r.Err, &failed) {
		return common.SourceUnavailable(message)
	}

	return common.CannotInstall(message)
}

// refresh resolves the requirements again in the background when that is due, and then wakes the object. The next run
// installs content that is not in the store. If no run is due, because the inputs are applied or will be adopted,
// refresh installs it.
func (e *external) refresh(run common.AnsibleRun) {
	r, applied := e.resolution, e.Recorded.AppliedDigest != "" && e.Recorded.AppliedDigest == e.Digest
	if r.Stale && (r.Found || applied) || lifecycle.Adopts(e.Situation) {
		wake := e.waker(run)
		e.Contents.Refresh(e.request, run.GetUID(), func() { wake(0) })
	}
}
