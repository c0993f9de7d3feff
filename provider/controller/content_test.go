package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// fakeContents returns one resolution, and records refreshes.
type fakeContents struct {
	resolution content.Resolution
	refreshed  []types.UID
}

func (c *fakeContents) Resolution(content.Request) content.Resolution {
	return c.resolution
}

func (c *fakeContents) Refresh(_ content.Request, caller types.UID, _ func()) {
	c.refreshed = append(c.refreshed, caller)
}

func knowing(c Contents) func(*connector) {
	return func(x *connector) { x.Contents = c }
}

// TestObserveContent observes objects with content that is not pinned.
func TestObserveContent(t *testing.T) {
	required := inputs.Inputs{Parameters: common.AnsibleRunParameters{Role: "acme.site.page"}, Requirements: "collections: [acme.site]"}
	resolved := func() (inputs.Inputs, error) { return required, nil }
	first := content.Set{Content: common.Content{Digest: "abc", Collections: []common.ContentItem{{Name: "acme.site", Version: "1.0.0", Revision: "1"}}}}
	hourOld := first
	hourOld.Resolved = &metav1.Time{Time: t0.Add(-time.Hour)}
	second := content.Set{Content: common.Content{Digest: "abc", Collections: []common.ContentItem{{Name: "acme.site", Version: "1.0.0", Revision: "2"}}}}
	gone := &galaxy.InstallError{What: "collections", Reason: "fatal: repository not found"}

	// applied with the first content.
	applied := func(r *v1alpha1.AnsibleRun) {
		d, err := required.Digest(inputs.ObjectKey(key, "uid"), first.Collections, nil, nil)
		needs.OK(t, err)

		r.Annotations = map[string]string{common.AnnotationRunPolicy: string(common.RunOnChange)}
		r.Status.AtProvider = common.AnsibleRunObservation{
			LastApply:     &common.Apply{ID: "1", State: common.StatePresent, Result: common.PhaseSucceeded, InputsDigest: d, CompletionTime: at(0)},
			AppliedDigest: d,
			Content:       &common.Content{Digest: "abc", Collections: first.Collections},
		}
	}
	conditioned := func(c xpv2.Condition) func(*v1alpha1.AnsibleRun) {
		return func(r *v1alpha1.AnsibleRun) { r.SetConditions(c) }
	}
	cannot := "cannot resolve the content again: cannot install collections: fatal: repository not found; "
	outdated := common.SourceUnavailable(cannot + "what was resolved at 2026-01-02T02:04:05Z goes on serving")
	nothing := common.SourceUnavailable(cannot + "none is installed, so that no run can start").WithObservedGeneration(2)
	full := common.CannotInstall("cannot resolve the content again: disk full; what is installed goes on serving").WithObservedGeneration(2)
	never := xpv2.Condition{Type: common.TypeContentUpToDate, Status: "Unknown"}
	hour, minute := t0.Add(time.Hour), t0.Add(time.Minute)

	for name, tc := range map[string]struct {
		reason     string
		run        *v1alpha1.AnsibleRun
		resolution content.Resolution
		// want is the reason of Ready, and what begins.
		want      string
		condition xpv2.Condition
	}{
		"Unchanged":         {"Content that was applied changes nothing.", object(applied), content.Resolution{Set: first, Found: true, Due: hour}, "Available", never},
		"NewContent":        {"New content changes the inputs.", object(applied), content.Resolution{Set: second, Found: true, Due: hour}, "Running, a run", never},
		"EmptyStore":        {"After a restart with an empty store the content is that of the status, and is resolved again if it may move.", object(applied), content.Resolution{Stale: true}, "Available, resolving", never},
		"EmptyStorePinned":  {"Pinned content is not resolved again.", object(applied), content.Resolution{}, "Available", never},
		"OtherDigest":       {"The same content under another digest, as after an upgrade of the provider, changes nothing.", object(applied), content.Resolution{Set: content.Set{Content: common.Content{Digest: "def", Collections: first.Collections}}, Found: true, Due: hour}, "Available", never},
		"New":               {"The next run of an object installs its content.", object(), content.Resolution{Stale: true}, "Running, a run", never},
		"Stale":             {"Stale content stays in use while it is resolved again.", object(applied), content.Resolution{Set: first, Found: true, Stale: true}, "Available, resolving", never},
		"Deleted":           {"A deleted object does not resolve its content again.", object(applied, beingDeleted), content.Resolution{Set: second, Found: true, Stale: true, Err: gone}, ", a run", never},
		"SourceUnavailable": {"If the source is unavailable, a condition has the error and the content in use.", object(applied), content.Resolution{Set: hourOld, Found: true, Err: gone, Due: minute}, "Available", outdated.WithObservedGeneration(2)},
		"NothingServes":     {"The condition says that no content is installed.", object(applied), content.Resolution{Err: gone, Due: minute}, "Available", nothing},
		"DiskFull":          {"A full disk is not an error of the source.", object(applied), content.Resolution{Set: first, Found: true, Err: errors.New("disk full")}, "Available", full},
		"ResolvedAgain":     {"The condition changes after the next success.", object(applied, conditioned(outdated)), content.Resolution{Set: first, Found: true, Due: hour}, "Available", common.ContentUpToDate().WithObservedGeneration(2)},
		"NotYetTried":       {"A restart of the provider does not change the condition.", object(applied, conditioned(outdated)), content.Resolution{Set: first, Found: true, Stale: true}, "Available, resolving", outdated},
	} {
		t.Run(name, func(t *testing.T) {
			c := &fakeContents{resolution: tc.resolution}

			p := &fakePool{}

			if _, err := connect(t, p, tc.run, resolved, knowing(c)).Observe(t.Context(), tc.run); err != nil {
				t.Fatal(err)
			}

			got := string(tc.run.GetCondition(xpv2.TypeReady).Reason)
			if p.report != nil {
				got += ", a run"
			}

			if len(c.refreshed) > 0 {
				got += ", resolving"
			}

			if got != tc.want {
				t.Errorf("\n%s\nObserve(...): want %q, got %q", tc.reason, tc.want, got)
			}

			if diff := cmp.Diff(tc.condition, tc.run.GetCondition(common.TypeContentUpToDate), cmpopts.IgnoreTypes(metav1.Time{})); diff != "" {
				t.Errorf("\n%s\nObserve(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
