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

// set a condition of an object as it is.
func set(run common.AnsibleRun, c xpv2.Condition) {
	run.SetConditions(c.WithObservedGeneration(run.GetGeneration()))
}

// restore a condition that is False.
func restore(run common.AnsibleRun, c xpv2.Condition) {
	if run.GetCondition(c.Type).Status == corev1.ConditionFalse {
		set(run, c)
	}
}

// drop a condition.
func drop(run common.AnsibleRun, t xpv2.ConditionType) {
	*run.Conditions() = slices.DeleteFunc(*run.Conditions(), func(c xpv2.Condition) bool { return c.Type == t })
}

// show what follows from a decision: conditions, and when to look again.
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

// showCheckable sets the condition Checkable to False when check runs cannot tell anything,
// and back to True when they can again.
func showCheckable(run common.AnsibleRun, s lifecycle.Situation) {
	switch {
	case s.Active != nil && !s.Active.Phase.Finished():
		// The run in progress may be a check run that tells more.
	case s.Policy == common.CheckWhenObserve && !s.Approvals.Required && lifecycle.NotCheckable(s):
		set(run, common.NotCheckable())
	default:
		restore(run, common.Checkable())
	}
}

// showState sets the condition StateAware to False when the deletion of its object would run nothing since the content
// would only be applied once more, and back to True when that is not so any more.
func showState(run common.AnsibleRun, r runs.Report) {
	switch {
	case r.Run.Phase != common.PhaseSucceeded:
		// It may not have come as far as its content.
	case r.IgnoresState && !saysDeletion(run):
		run.SetConditions(common.StateIgnored(run.Parameters().StateVariable).WithObservedGeneration(r.Generation))
	default:
		restore(run, common.MayUseState())
	}
}

// unaware is true for an object that is deleted, and whose content is known not to look at the state: it was applied,
// and the spec has not changed since. The deletion itself counts as one generation.
func unaware(run common.AnsibleRun) bool {
	c, last := run.GetCondition(common.TypeStateAware), run.Observation().LastApply

	return c.Status == corev1.ConditionFalse && c.ObservedGeneration+1 == run.GetGeneration() &&
		last != nil && last.Result == common.PhaseSucceeded && !saysDeletion(run)
}

// saysDeletion is true for an object that says what its deletion does.
func saysDeletion(run common.AnsibleRun) bool {
	return run.Parameters().OnDelete != nil || !allows(run, xpv2.ManagementActionDelete)
}

// showConfined has the condition Confined be there while the last run in the provider was not confined.
func showConfined(run common.AnsibleRun) {
	switch last := run.Observation().LastRun; {
	case last == nil || last.Confinement == nil:
	case last.Confinement.Landlock == 0 && last.Pod == nil:
		set(run, common.NotConfined(*last.Confinement))
	default:
		drop(run, common.TypeConfined)
	}
}

// showWithheld has the condition OutputsWithheld be there while outputs are withheld.
func showWithheld(run common.AnsibleRun) {
	if o := run.Observation(); len(o.WithheldOutputs)+len(o.WithheldReported) > 0 {
		set(run, common.OutputsWithheld(o.WithheldOutputs, o.WithheldReported))
		return
	}

	drop(run, common.TypeOutputsWithheld)
}

// showContent sets the condition ContentUpToDate to False when content could not be resolved
// again, and back to True when it could after that.
func showContent(run common.AnsibleRun, r content.Resolution) {
	switch {
	case r.Err != nil:
		set(run, outdated(r))
	case !r.Stale:
		restore(run, common.ContentUpToDate())
	}
}

// outdated is the condition for content that could not be resolved again. Its message says
// why, and which content runs use meanwhile.
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

// refresh resolves the requirements again in the background when that is due, and then wakes the object. Content that
// is not in the store is left to the next run, which installs it, unless none is to come: the inputs are applied, or
// adopted without a run.
func (e *external) refresh(run common.AnsibleRun) {
	r, applied := e.resolution, e.Recorded.AppliedDigest != "" && e.Recorded.AppliedDigest == e.Digest
	if r.Stale && (r.Found || applied) || lifecycle.Adopts(e.Situation) {
		wake := e.waker(run)
		e.Contents.Refresh(e.request, run.GetUID(), func() { wake(0) })
	}
}
