package controller

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	rfake "github.com/crossplane/crossplane-runtime/v2/pkg/resource/fake"
	"github.com/crossplane/crossplane-runtime/v2/pkg/test"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/dependents"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// Key of the tests.
var key = []byte("0123456789abcdef0123456789abcdef")

var errBoom = errors.New("boom")

type resolverFn func() (inputs.Inputs, error)

func (fn resolverFn) Resolve(context.Context, common.AnsibleRun) (inputs.Inputs, error) { return fn() }

// PodNamespace returns the namespace of all Pods.
func (fn resolverFn) PodNamespace(context.Context, common.AnsibleRun) (string, error) {
	return "jobs", nil
}

// resolves is a Resolver that returns a playbook, or an error.
func resolves(playbook string, missing error) resolverFn {
	return func() (inputs.Inputs, error) { return in(playbook), missing }
}

type nopTracker struct{}

func (nopTracker) Track(context.Context, common.AnsibleRun) error { return nil }

func in(playbook string) inputs.Inputs {
	return inputs.Inputs{Parameters: common.AnsibleRunParameters{PlaybookInline: playbook}}
}

func digestOf(t *testing.T, i inputs.Inputs) string {
	t.Helper()

	d, err := i.Digest(inputs.ObjectKey(key, "uid"), nil, nil, nil)
	needs.OK(t, err)

	return d
}

// t0 is the end of a run.
var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(after time.Duration) *metav1.Time {
	return &metav1.Time{Time: t0.Add(after)}
}

// newConnector returns a connector of namespaced objects, with a pool and a fixed time.
func newConnector(p Pool, os ...func(*connector)) *connector {
	c := &connector{
		Options: Options{
			Options: controller.Options{
				Logger: logging.NewNopLogger(), PollInterval: 10 * time.Minute,
				MetricOptions: &controller.MetricOptions{MRMetrics: managed.NewNopMetricRecorder()},
			},
			Limit: rate.NewLimiter(rate.Inf, 1), Tracker: nopTracker{}, Pool: p, Contents: &fakeContents{resolution: content.Resolution{Found: true}}, Outputs: &fakeOutputs{}, Key: key,
			Dependents: dependents.New(context.Background(), nil),
		},
		kind:     runKinds()[1],
		recorder: event.NewNopRecorder(),
		schedule: newSchedule(10*time.Minute, time.Second),
		wake:     func(types.NamespacedName, time.Duration) {},
		now:      func() time.Time { return t0 },
		newID:    func() string { return "new" },
	}

	for _, o := range os {
		o(c)
	}

	return c
}

// runtimeOf returns the reconciler of crossplane-runtime.
func runtimeOf(kube client.Client, c *connector) *managed.Reconciler {
	return managed.NewReconciler(&rfake.Manager{Client: kube, Scheme: kube.Scheme()}, resource.ManagedKind(c.kind),
		options(statusClient{kube, c.schedule}, "test", c)...)
}

func connect(t *testing.T, p *fakePool, run common.AnsibleRun, resolve resolverFn, os ...func(*connector)) managed.TypedExternalClient[common.AnsibleRun] {
	t.Helper()

	p.free = true
	c := newConnector(p, append([]func(*connector){func(c *connector) { c.Resolver = resolve }}, os...)...)

	e, err := c.Connect(t.Context(), run)
	if err != nil {
		t.Fatalf("Connect should never fail: %s", err)
	}

	return e
}

// begin begins the run of an object: one reconcile writes its start time, and the next one finds it.
func begin(t *testing.T, p *fakePool, run common.AnsibleRun, resolve resolverFn) managed.TypedExternalClient[common.AnsibleRun] {
	t.Helper()

	var e managed.TypedExternalClient[common.AnsibleRun]

	for range 2 {
		e = connect(t, p, run, resolve)
		if _, err := e.Observe(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}

	return e
}

func object(os ...func(*v1alpha1.AnsibleRun)) *v1alpha1.AnsibleRun {
	run := &v1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "uid", Generation: 2}}
	for _, o := range os {
		o(run)
	}

	return run
}

func annotated(k, v string) func(*v1alpha1.AnsibleRun) {
	return func(r *v1alpha1.AnsibleRun) { meta.AddAnnotations(r, map[string]string{k: v}) }
}

func observed(o common.AnsibleRunObservation) func(*v1alpha1.AnsibleRun) {
	return func(r *v1alpha1.AnsibleRun) { r.Status.AtProvider = o }
}

func readySince(generation int64) func(*v1alpha1.AnsibleRun) {
	return func(r *v1alpha1.AnsibleRun) {
		r.SetConditions(xpv2.Available().WithObservedGeneration(generation))
	}
}

func beingDeleted(r *v1alpha1.AnsibleRun) {
	now := metav1.NewTime(t0)
	r.DeletionTimestamp = &now
}

func TestObserve(t *testing.T) {
	digest := digestOf(t, in("a"))
	started := common.Run{ID: "1", Mode: common.ModeApply, State: common.StatePresent, Phase: common.PhaseRunning, InputsDigest: digest, StartTime: at(0)}
	first := common.Apply{ID: "1", State: common.StatePresent, InputsDigest: digest, Attempts: 1}
	interrupted := started
	interrupted.Phase, interrupted.CompletionTime = common.PhaseInterrupted, at(0)
	interrupted.Reason, interrupted.Message = runs.ReasonProviderEnded, "the provider ended while the run was in progress"
	// applied is the last apply, which was interrupted.
	applied := func(attempts int64, again time.Duration) *common.Apply {
		return &common.Apply{
			ID: "1", State: common.StatePresent, Result: common.PhaseInterrupted, InputsDigest: digest, Attempts: attempts, CompletionTime: at(0), NextRetryTime: at(again),
		}
	}
	ready := xpv2.Available().WithObservedGeneration(2)

	for name, tc := range map[string]struct {
		reason string
		run    *v1alpha1.AnsibleRun
		report *runs.Report
		// missing is the error of the inputs.
		missing error

		err error
		// status is the expected status; nil for no change.
		status *common.AnsibleRunObservation
		ready  xpv2.Condition
	}{
		"Interrupted": {
			reason: "A run that is in progress according to the status, and unknown to the pool, was interrupted.",
			run:    object(observed(common.AnsibleRunObservation{LastRun: started.DeepCopy(), LastApply: first.DeepCopy()})),
			err:    errors.New("present run was interrupted: the provider ended while the run was in progress; attempt 1 follows at 2026-01-02T03:04:10Z"),
			status: &common.AnsibleRunObservation{LastRun: &interrupted, LastApply: applied(0, 5*time.Second), Executed: true, Interruptions: 1},
			ready:  common.NotReady(common.ReasonRunFailed).WithMessage("the provider ended while the run was in progress").WithObservedGeneration(2),
		},
		"Missing":          {reason: "Inputs that cannot be resolved should be an error, and not change Ready.", run: object(readySince(2)), missing: errBoom, err: errBoom, ready: ready},
		"MissingChanged":   {reason: "An object with a changed spec is not ready.", run: object(readySince(1), observed(common.AnsibleRunObservation{AppliedDigest: digest})), missing: errBoom, err: errBoom, ready: common.NotReady(common.ReasonInputsChanged).WithObservedGeneration(2)},
		"MissingFromStart": {reason: "An object that was never applied is creating.", run: object(), missing: errBoom, err: errBoom, ready: xpv2.Creating().WithObservedGeneration(2)},
		"MissingRunning": {
			reason: "The report of a run should be shown despite an error in the inputs.", run: object(readySince(2)), report: &runs.Report{Run: started, Attempt: 1}, missing: errBoom,
			err: errBoom, status: &common.AnsibleRunObservation{LastRun: &started, LastApply: &first}, ready: ready,
		},
		"UnknownPolicy": {
			reason: "An invalid policy should be an error.", run: object(readySince(2), annotated(common.AnnotationRunPolicy, "Sometimes")), ready: ready,
			err: errors.New(`annotation ansible.crossplane.io/runPolicy: "Sometimes" is not a run policy: use ObserveAndDelete, CheckWhenObserve or RunOnChange`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &fakePool{report: tc.report}

			if tc.status == nil {
				tc.status = tc.run.Status.AtProvider.DeepCopy()
			}

			o, err := connect(t, p, tc.run, resolves("a", tc.missing)).Observe(t.Context(), tc.run)
			if diff := cmp.Diff(tc.err, err, test.EquateErrors()); diff != "" {
				t.Errorf("\n%s\nObserve(...): -want error, +got error:\n%s", tc.reason, diff)
			}

			// The runtime must not call Create or Update.
			if done := tc.err == nil; o.ResourceExists != done || o.ResourceUpToDate != done {
				t.Errorf("\n%s\nObserve(...): got %+v", tc.reason, o)
			}

			if diff := cmp.Diff(*tc.status, tc.run.Status.AtProvider, cmpopts.IgnoreFields(common.AnsibleRunObservation{}, "History", "UID")); diff != "" {
				t.Errorf("\n%s\nObserve(...): -want status, +got status:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.ready, tc.run.GetCondition(xpv2.TypeReady), cmpopts.IgnoreTypes(metav1.Time{})); diff != "" {
				t.Errorf("\n%s\nObserve(...): -want ready, +got ready:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestJob(t *testing.T) {
	last := &common.Run{ID: "1", Mode: common.ModeApply, State: common.StatePresent, Phase: common.PhaseSucceeded, CompletionTime: at(0)}
	drift := &common.Drift{Changed: 1}
	p := &fakePool{}
	run := object(annotated(common.AnnotationRunPolicy, "RunOnChange"), annotated(common.AnnotationKeepOutput, "true"), observed(common.AnsibleRunObservation{
		LastRun:       last,
		LastApply:     &common.Apply{ID: "1", State: common.StatePresent, Result: common.PhaseSucceeded, InputsDigest: "before", CompletionTime: at(0)},
		AppliedDigest: "before",
		Drift:         drift,
	}))

	begin(t, p, run, resolves("a", nil))

	want := []runs.Run{{
		Spec: runner.Spec{
			ID: "new", Mode: common.ModeApply, State: common.StatePresent, Trigger: common.TriggerChanged, Attempt: 1,
			Object: runner.ObjectOf(run), Inputs: in("a"), KeepOutput: true,
		},
		Kind:   runKinds()[1],
		Policy: common.RunOnChange,
		Before: runs.Before{Run: last, Applied: "before", Drift: drift},
	}}
	if diff := cmp.Diff(want, p.submitted, cmpopts.IgnoreFields(runs.Run{}, "DigestKey")); diff != "" {
		t.Errorf("A job should say all about the run, and what was known before: -want, +got:\n%s", diff)
	}
}

// The reconciler goes on with the object while the run is carried out: it writes
// annotations, and reads the object back into the same place.
func TestJobIsApart(t *testing.T) {
	p := &fakePool{}
	run := object(beingDeleted, annotated("team", "web"), observed(common.AnsibleRunObservation{
		LastApply: &common.Apply{ID: "1", State: common.StatePresent, Result: common.PhaseSucceeded, CompletionTime: at(0)},
		Executed:  true,
		Content:   &common.Content{Digest: "c", Collections: []common.ContentItem{{Name: "a.b", Version: "1"}}, Roles: []common.ContentItem{{Name: "r", Version: "1"}}},
	}))
	begin(t, p, run, resolves("a", nil))

	meta.AddAnnotations(run, map[string]string{"team": "ops"})

	read := `{"status":{"atProvider":{"content":{"collections":[{"name":"a.b","version":"2"}],"roles":[{"name":"r","version":"2"}]}}}}`
	needs.OK(t, json.Unmarshal([]byte(read), run))

	*run = v1alpha1.AnsibleRun{}

	if len(p.submitted) != 1 {
		t.Fatalf("There should be a run, got %+v", p.submitted)
	}

	j := p.submitted[0]
	if got := j.Object.Annotations["team"]; got != "web" {
		t.Errorf("A job should keep the annotations that it started with, got %q", got)
	}

	want := content.Set{Content: common.Content{Digest: "c", Collections: []common.ContentItem{{Name: "a.b", Version: "1"}}, Roles: []common.ContentItem{{Name: "r", Version: "1"}}}}
	if diff := cmp.Diff([]content.Set{want, want}, []content.Set{j.Content, content.Known(j.Before.Content)}); diff != "" {
		t.Errorf("A job should keep the content that was known when it started: -want, +got:\n%s", diff)
	}

	if diff := cmp.Diff(inputs.AbsentDigest(2), j.Digest(content.Set{})); diff != "" {
		t.Errorf("A job should keep the generation that it started with: -want, +got:\n%s", diff)
	}
}

// TestAdoptInstalled has an object that waits for its content before its adoption. It is not run,
// even if a place is free.
func TestAdoptInstalled(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		missing error
		want    error
	}{
		"Installing":    {reason: "The object waits for its content."},
		"NotInstalling": {"The error of the installation is reported.", errBoom, errors.Wrap(errBoom, "cannot adopt the object before its content is installed")},
	} {
		t.Run(name, func(t *testing.T) {
			p, run := &fakePool{}, object(annotated(common.AnnotationAdopt, "true"))
			c := &fakeContents{resolution: content.Resolution{Err: tc.missing}}

			_, err := connect(t, p, run, resolves("a", nil), knowing(c)).Observe(t.Context(), run)
			if diff := cmp.Diff(tc.want, err, test.EquateErrors()); diff != "" || p.report != nil || len(c.refreshed) != 1 {
				t.Errorf("\n%s\nwant no run, and content to be installed, got %+v, %v; -want error, +got error:\n%s", tc.reason, p.report, c.refreshed, diff)
			}
		})
	}
}

// TestDrop has a run that waits in its Pod. It is revoked if another run is due.
func TestDrop(t *testing.T) {
	digest := digestOf(t, in("a"))
	closes := func(run *v1alpha1.AnsibleRun, _ *inputs.Inputs, _ *runs.Report) {
		run.Spec.ForProvider.Window = &common.Window{Times: common.Times{Cron: "0 2 * * *"}, Duration: metav1.Duration{Duration: time.Hour}}
	}
	cancels := func(run *v1alpha1.AnsibleRun, i *inputs.Inputs, r *runs.Report) {
		*i = in("b")
		annotated(common.AnnotationCancel, r.Run.ID)(run)
	}

	for name, tc := range map[string]struct {
		reason string
		run    *v1alpha1.AnsibleRun
		// change changes the object, the inputs or the report after the decision.
		change func(run *v1alpha1.AnsibleRun, i *inputs.Inputs, r *runs.Report)
		// err of the inputs.
		err  error
		want bool
	}{
		"Same":   {reason: "Without a change, the run waits.", run: object()},
		"Image":  {reason: "The image has changed.", run: object(), change: func(_ *v1alpha1.AnsibleRun, i *inputs.Inputs, _ *runs.Report) { i.Execution.Image = "b" }, want: true},
		"Inputs": {reason: "The inputs have changed.", run: object(), change: func(_ *v1alpha1.AnsibleRun, i *inputs.Inputs, _ *runs.Report) { *i = in("b") }, want: true},
		"Early":  {reason: "A run without a plan is not revoked.", run: object(), change: func(_ *v1alpha1.AnsibleRun, i *inputs.Inputs, r *runs.Report) { *i, r.Plan = in("b"), "" }},
		"Installed": {reason: "A run that has installed its content is not revoked.", run: object(), change: func(run *v1alpha1.AnsibleRun, i *inputs.Inputs, r *runs.Report) {
			*i, run.Status.AtProvider.LastApply = in("b"), &common.Apply{ID: r.Run.ID}
		}},
		"Missing": {reason: "With missing inputs, no other run can start.", run: object(), err: errBoom},
		"MissingEdited": {
			reason: "After an edit, a run with the former spec is revoked.", run: object(), err: errBoom, want: true,
			change: func(run *v1alpha1.AnsibleRun, _ *inputs.Inputs, _ *runs.Report) { run.Generation++ },
		},
		"MissingClosed": {reason: "Its window has closed, although inputs are missing.", run: object(), err: errBoom, want: true, change: closes},
		"MissingRequested": {
			reason: "A requested run does not need the window.", run: object(), err: errBoom,
			change: func(run *v1alpha1.AnsibleRun, _ *inputs.Inputs, r *runs.Report) {
				r.Run.Trigger = common.TriggerRequested
				closes(run, nil, nil)
			},
		},
		"MissingApproved": {
			reason: "With missing inputs, its approval may have been withdrawn.", run: object(), err: errBoom, want: true,
			change: func(run *v1alpha1.AnsibleRun, _ *inputs.Inputs, _ *runs.Report) {
				run.Status.AtProvider.Approval = &common.ApprovalObservation{State: common.ApprovalApproved}
			},
		},
		"MissingApplied": {
			reason: "The approval was for an earlier run.", run: object(), err: errBoom,
			change: func(run *v1alpha1.AnsibleRun, _ *inputs.Inputs, _ *runs.Report) {
				run.Status.AtProvider.Approval = &common.ApprovalObservation{State: common.ApprovalApplied}
			},
		},
		"MissingEnded": {
			reason: "An ended run cannot be revoked.", run: object(), err: errBoom,
			change: func(run *v1alpha1.AnsibleRun, _ *inputs.Inputs, r *runs.Report) {
				run.Generation++
				r.Run.Phase = common.PhaseCanceled
			},
		},
		"Requested": {
			reason: "A request replaces the run.", run: object(), want: true,
			change: func(run *v1alpha1.AnsibleRun, _ *inputs.Inputs, _ *runs.Report) {
				annotated(meta.AnnotationKeyReconcileRequestedAt, "now")(run)
			},
		},
		"Undone": {
			reason: "The inputs are the applied ones again.", run: object(annotated(common.AnnotationRunPolicy, "RunOnChange"), observed(common.AnsibleRunObservation{AppliedDigest: digestOf(t, in("b"))})),
			change: func(_ *v1alpha1.AnsibleRun, i *inputs.Inputs, _ *runs.Report) { *i = in("b") }, want: true,
		},
		"Closed": {reason: "Its window has closed.", run: object(), want: true, change: closes},
		"Dependents": {
			reason: "Dependents are not watched during a run.", run: object(annotated(common.AnnotationRunPolicy, "RunOnChange")),
			change: func(run *v1alpha1.AnsibleRun, _ *inputs.Inputs, r *runs.Report) {
				run.Status.AtProvider.AppliedDigest, r.Run.Trigger = digest, common.TriggerDependents
			},
		},
		"Preview":         {reason: "A preview waits for its request.", run: object(annotated(meta.AnnotationKeyReconcileRequestedAt, common.PreviewRequest+"1"))},
		"PreviewChanged":  {reason: "A preview with changed inputs is revoked.", run: object(annotated(meta.AnnotationKeyReconcileRequestedAt, common.PreviewRequest+"1")), change: func(_ *v1alpha1.AnsibleRun, i *inputs.Inputs, _ *runs.Report) { *i = in("b") }, want: true},
		"Canceled":        {reason: "The run was canceled.", run: object(), change: cancels, want: true},
		"MissingCanceled": {reason: "A cancellation needs no inputs.", run: object(), err: errBoom, change: cancels},
		"Absent":          {reason: "A deletion goes on.", run: object(beingDeleted, observed(common.AnsibleRunObservation{Executed: true}))},
		"AbsentChanged":   {reason: "A deletion with changed inputs is revoked.", run: object(beingDeleted, observed(common.AnsibleRunObservation{Executed: true})), change: func(_ *v1alpha1.AnsibleRun, i *inputs.Inputs, _ *runs.Report) { i.Execution.Image = "b" }, want: true},
		"AbsentMissing":   {reason: "A deletion with missing inputs goes on.", run: object(beingDeleted, observed(common.AnsibleRunObservation{Executed: true})), err: errBoom},
	} {
		t.Run(name, func(t *testing.T) {
			p, i := &fakePool{lasts: true}, in("a")

			var err error

			resolve := func() (inputs.Inputs, error) { return i, err }

			begin(t, p, tc.run, resolve)

			if len(p.submitted) != 1 {
				t.Fatal("There should be a run.")
			}

			p.report.Plan, err = p.submitted[0].Plan(), tc.err
			if tc.change != nil {
				tc.change(tc.run, &i, p.report)
			}

			_, _ = connect(t, p, tc.run, resolve).Observe(t.Context(), tc.run)

			canceled := strings.HasSuffix(name, "Canceled")
			got := p.wants[len(p.wants)-1]
			if dropped := !got.Keep && (got.Run == nil || got.Run.Plan() != p.report.Plan); dropped != tc.want || got.End != canceled {
				t.Errorf("%s\nwant it dropped: %t, and canceled: %t, got %+v", tc.reason, tc.want, canceled, got)
			}

			if last := tc.run.Status.AtProvider.LastRun; last == nil || last.ID != "new" {
				t.Errorf("%s\nThe status should show it, or else the next provider does not find its Pod: %+v", tc.reason, last)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	applied := observed(common.AnsibleRunObservation{
		LastApply: &common.Apply{ID: "1", State: common.StatePresent, Result: common.PhaseSucceeded, CompletionTime: at(0)},
		Executed:  true,
	})

	t.Run("MissingInputs", func(t *testing.T) {
		p := &fakePool{}
		run := object(beingDeleted, applied)
		e := connect(t, p, run, resolves("", errBoom))

		if _, err := e.Observe(t.Context(), run); err != nil {
			t.Fatal(err)
		}

		_, err := e.Delete(t.Context(), run)
		if diff := cmp.Diff(errBoom, err, test.EquateErrors()); diff != "" {
			t.Errorf("Delete should report inputs that are missing: -want, +got:\n%s", diff)
		}

		want := common.CannotDelete(errBoom).WithObservedGeneration(2)
		if diff := cmp.Diff(want, run.GetCondition(common.TypeDeletable), test.EquateConditions()); diff != "" {
			t.Errorf("A condition should name what is missing and the way out: -want, +got:\n%s", diff)
		}

		if len(p.submitted) != 0 {
			t.Errorf("Nothing should be started without inputs, got %+v", p.submitted)
		}
	})

	t.Run("Again", func(t *testing.T) {
		p := &fakePool{}
		run := object(beingDeleted, observed(common.AnsibleRunObservation{
			LastRun:   &common.Run{ID: "2", Mode: common.ModeApply, State: common.StateAbsent, Phase: common.PhaseFailed, Message: "no space"},
			LastApply: &common.Apply{ID: "2", State: common.StateAbsent, InputsDigest: inputs.AbsentDigest(2), Result: common.PhaseFailed, Attempts: 1, CompletionTime: at(-time.Hour)},
			Executed:  true,
		}))
		stuck := common.DeletionFailed(errBoom)
		run.SetConditions(stuck)

		if _, err := begin(t, p, run, resolves("a", nil)).Delete(t.Context(), run); err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(stuck, run.GetCondition(common.TypeDeletable), test.EquateConditions()); diff != "" || len(p.submitted) != 1 {
			t.Errorf("What failed may fail again: want the condition to stay while it is tried, got %d jobs; -want, +got:\n%s", len(p.submitted), diff)
		}
	})
}

// TestFollow has a provider that finds a run in progress with a Pod. It follows the run, and does not change the status
// before the first report.
func TestFollow(t *testing.T) {
	digest := digestOf(t, in("a"))
	status := common.AnsibleRunObservation{
		LastRun: &common.Run{
			ID: "1", Mode: common.ModeApply, State: common.StatePresent, Trigger: common.TriggerRetry, Phase: common.PhaseRunning,
			InputsDigest: digest, StartTime: at(0), CurrentTask: "t", Pod: &common.PodReference{Namespace: "jobs", Name: "ansiblerun-1"},
		},
		LastApply: &common.Apply{ID: "1", State: common.StatePresent, InputsDigest: digest, Attempts: 3},
	}

	for name, tc := range map[string]struct {
		reason string
		report *runs.Report
	}{
		"Attaching": {"Before the first report, the status does not change.", &runs.Report{Run: *status.LastRun, Attaching: true}},
		"Stopping":  {"If the pool is stopping, the status does not change: the next provider follows the run.", nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := &fakePool{report: tc.report}
			run := object(observed(*status.DeepCopy()))

			o, err := connect(t, p, run, resolves("a", nil)).Observe(t.Context(), run)
			if err != nil || !o.ResourceUpToDate || len(p.submitted) > 0 {
				t.Errorf("\n%s\nObserve(...): %+v, %v, submitted %v", tc.reason, o, err, p.submitted)
			}

			if diff := cmp.Diff(status, run.Status.AtProvider); diff != "" {
				t.Errorf("\n%s\nObserve(...): -want status, +got status:\n%s", tc.reason, diff)
			}

			if len(p.followed) != 1 {
				t.Fatalf("Observe(...): followed %+v", p.followed)
			}

			j := p.followed[0]
			if j.ID != "1" || j.Attempt != 3 || j.Pod().Namespace != "jobs" || j.Pod().Name != "ansiblerun-1" || j.Object.UID != run.UID || len(j.DigestKey) == 0 {
				t.Errorf("The job should say which run of which object it is: %+v", j)
			}
		})
	}

	// followed returns the followed run of an object with a status.
	followed := func(change func(o *common.AnsibleRunObservation)) []runs.Run {
		p, run := &fakePool{}, object(observed(*status.DeepCopy()))
		change(run.Observation())

		if _, err := connect(t, p, run, resolves("a", nil)).Observe(t.Context(), run); err != nil {
			t.Fatal(err)
		}

		return p.followed
	}

	if got := followed(func(o *common.AnsibleRunObservation) {
		o.LastRun.Phase = common.PhaseQueued
		o.LastApply = &common.Apply{ID: "0", State: common.StatePresent, InputsDigest: digest, Attempts: 4, Result: common.PhaseFailed}
	}); len(got) != 1 || got[0].Attempt != 5 {
		t.Errorf("A run that was persisted and has not begun should be the next attempt, the fifth: %+v", got)
	}

	if got := followed(func(o *common.AnsibleRunObservation) { o.LastRun.Pod.Namespace = "kube-system" }); len(got) != 1 || got[0].Pod().Namespace != "jobs" {
		t.Errorf("An edited status should not say where the provider looks for Pods: %+v", got)
	}

	if got := followed(func(o *common.AnsibleRunObservation) {
		o.LastRun.Phase, o.LastRun.CompletionTime = common.PhaseSucceeded, at(0)
	}); len(got) > 0 {
		t.Errorf("A run that has ended should not be followed: %+v", got)
	}
}
