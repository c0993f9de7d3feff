package controller

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/lifecycle"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// Contents know what requirements resolve to at present.
type Contents interface {
	// Resolution of a request.
	Resolution(r content.Request) content.Resolution
	// Refresh resolves a request again in the background if it is stale, and
	// calls wake when that has ended.
	Refresh(r content.Request, who string, wake func())
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

// refresh resolves the requirements again in the background when that is due, and then wakes
// the object.
func (e *external) refresh(run common.AnsibleRun, s lifecycle.Situation) {
	if !refreshes(s, e.resolution) {
		return
	}

	e.contents.Refresh(e.request, string(run.GetUID()), e.waker(run))
}

// refreshes is true when the requirements are to be resolved again. Content that is not in
// the store is left to the next run, which installs it, unless no run is to come since the
// inputs are applied.
func refreshes(s lifecycle.Situation, r content.Resolution) bool {
	return r.Stale && (r.Found || s.Recorded.AppliedDigest != "" && s.Recorded.AppliedDigest == s.Digest)
}

// showContent sets the condition ContentUpToDate to False when content could not be resolved
// again, and back to True when it could after that.
func showContent(run common.AnsibleRun, r content.Resolution) {
	was := run.GetCondition(common.TypeContentUpToDate)

	switch {
	case r.Err != nil:
		run.SetConditions(outdated(r).WithObservedGeneration(run.GetGeneration()))
	case was.Status == corev1.ConditionFalse && !r.Stale:
		run.SetConditions(common.ContentUpToDate().WithObservedGeneration(run.GetGeneration()))
	}
}

// outdated is the condition for content that could not be resolved again. Its message says
// why, and which content runs use meanwhile.
func outdated(r content.Resolution) xpv2.Condition {
	serves := "none is installed, so that no run can start"

	switch {
	case r.Found && r.Resolved.IsZero():
		serves = "what is installed goes on serving"
	case r.Found:
		serves = fmt.Sprintf("what was resolved at %s goes on serving", r.Resolved.UTC().Format(time.RFC3339))
	}

	message := fmt.Sprintf("cannot resolve the content again: %s; %s", r.Err, serves)

	var failed *galaxy.InstallError
	if errors.As(r.Err, &failed) {
		return common.SourceUnavailable(message)
	}

	return common.CannotInstall(message)
}

// lookAgain is when to look at an object again: when the decision says so, or
// when its content is due, if that is earlier.
func lookAgain(until, due, now time.Time, poll time.Duration) time.Time {
	switch {
	case !due.After(now):
		return until
	case until.IsZero() && due.Before(now.Add(poll)), !until.IsZero() && due.Before(until):
		return due
	}

	return until
}
