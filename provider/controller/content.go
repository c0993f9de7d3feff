package controller

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	// wakes who asked for it.
	Refresh(r content.Request, who string, wake func())
}

// resolve the requirements to the content that a run would use: what serves now,
// or else what was resolved for the object before.
func (e *external) resolve(run common.AnsibleRun) {
	e.content = content.Known(run.Observation().Content)
	e.request.Known = e.content
	e.request.Tenant = runner.ObjectOf(run).Tenant()

	e.resolution = e.contents.Resolution(e.request)
	if e.resolution.Found {
		e.content = e.resolution.Set
	}
}

// refresh what the requirements resolve to when that is due. Nothing waits for
// it: the object is looked at again when it has ended.
func (e *external) refresh(run common.AnsibleRun, s lifecycle.Situation) {
	if !refreshes(s, e.resolution) {
		return
	}

	name := client.ObjectKeyFromObject(run)

	e.contents.Refresh(e.request, string(run.GetUID()), func() { e.wake(name) })
}

// refreshes is true when it is to be found out what the requirements resolve to
// now. Content that is not in the store is installed by the next run, unless
// there is none to come: the inputs are those that were applied.
func refreshes(s lifecycle.Situation, r content.Resolution) bool {
	return r.Stale && (r.Found || s.Recorded.AppliedDigest != "" && s.Recorded.AppliedDigest == s.Digest)
}

// showContent says when content could not be resolved again, and when it could
// after that.
func showContent(run common.AnsibleRun, r content.Resolution) {
	was := run.GetCondition(common.TypeContentUpToDate)

	switch {
	case r.Err != nil:
		run.SetConditions(outdated(r).WithObservedGeneration(run.GetGeneration()))
	case was.Status == corev1.ConditionFalse && !r.Stale:
		run.SetConditions(common.ContentUpToDate().WithObservedGeneration(run.GetGeneration()))
	}
}

// outdated says why content could not be resolved again, and what serves.
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
// when its content is due before.
func lookAgain(until, due, now time.Time, poll time.Duration) time.Time {
	switch {
	case !due.After(now):
		return until
	case until.IsZero() && due.Before(now.Add(poll)), !until.IsZero() && due.Before(until):
		return due
	}

	return until
}
