package controller

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// fakeOutputs records its calls.
type fakeOutputs struct {
	err     error
	kept    []string
	dropped int
}

func (k *fakeOutputs) Save(_ context.Context, _ common.AnsibleRun, _ schema.GroupVersionKind, r runs.Report) (*common.KeptOutput, error) {
	if k.err != nil {
		return nil, k.err
	}

	k.kept = append(k.kept, r.Run.ID)

	return &common.KeptOutput{Namespace: "ns", ConfigMap: "output", RunID: r.Run.ID}, nil
}

func (k *fakeOutputs) Reference(common.AnsibleRun, schema.GroupVersionKind) *common.KeptOutput {
	return &common.KeptOutput{Namespace: "ns", ConfigMap: "output"}
}

func (k *fakeOutputs) Delete(context.Context, common.AnsibleRun, schema.GroupVersionKind) error {
	if k.err == nil {
		k.dropped++
	}

	return k.err
}

// reasons are the reasons of events.
type reasons []event.Reason

func (r *reasons) Event(_ runtime.Object, e event.Event) { *r = append(*r, e.Reason) }

func (r *reasons) WithAnnotations(...string) event.Recorder { return r }

func TestKeepOutput(t *testing.T) {
	wanted := annotated(common.AnnotationKeepOutput, "true")
	kept := func(id string) *common.KeptOutput {
		return &common.KeptOutput{Namespace: "ns", ConfigMap: "output", RunID: id}
	}
	ran := func(phase common.RunPhase, output string) *runs.Report {
		return &runs.Report{Run: common.Run{ID: "1", Mode: common.ModeApply, State: common.StatePresent, Phase: phase, StartTime: at(0)}, Output: output}
	}
	wantedFor := func(d string) func(*v1alpha1.AnsibleRun) { return annotated(common.AnnotationKeepOutput, d) }
	keptSince := func(id string) *common.KeptOutput {
		k := kept(id)
		k.CompletionTime = at(-time.Hour)

		return k
	}
	keptAt := func(id string) func(*v1alpha1.AnsibleRun) {
		return func(o *v1alpha1.AnsibleRun) { o.Status.AtProvider.KeptOutput = keptSince(id) }
	}
	recorded := func(o *v1alpha1.AnsibleRun) { o.Status.AtProvider.LastRun = &ran(common.PhaseSucceeded, "").Run }
	keeps := func(id string) func(*v1alpha1.AnsibleRun) {
		return func(o *v1alpha1.AnsibleRun) { o.Status.AtProvider.KeptOutput = kept(id) }
	}

	watchesUntil := func(after time.Duration) func(*v1alpha1.AnsibleRun) {
		return annotated(common.AnnotationWatch, at(after).Format(time.RFC3339))
	}
	watches := watchesUntil(common.MaxWatch)
	shows := func(phase common.RunPhase, text string) *runs.Report {
		r := ran(phase, "")
		r.Tail = func() string { return text }

		return r
	}
	cannot := reasons{ReasonCannotKeepOutput}
	done := func(output string) *runs.Report { return ran(common.PhaseSucceeded, output) }

	for name, tc := range map[string]struct {
		reason string
		run    *v1alpha1.AnsibleRun
		report *runs.Report
		err    error

		// saved and dropped are the calls of the store.
		saved   bool
		dropped int
		status  *common.KeptOutput
		events  reasons
	}{
		"NotWanted":        {"Output should be kept only on request.", object(), done("text"), nil, false, 0, nil, nil},
		"InProgress":       {"Kept output should stay until there is new output.", object(wanted, keeps("0")), ran(common.PhaseRunning, ""), nil, false, 0, kept("0"), nil},
		"Ended":            {"The output of a run that has ended should be kept.", object(wanted, keeps("0")), ran(common.PhaseFailed, "text"), nil, true, 0, kept("1"), nil},
		"Kept":             {"The output of a run should be kept once.", object(wanted, keeps("1"), recorded), done("text"), nil, false, 0, kept("1"), nil},
		"SecondTry":        {"Output that could not be kept should be kept before the result is forgotten.", object(wanted, recorded), done("text"), nil, true, 0, kept("1"), nil},
		"AskedForTooLate":  {"A run that was in progress when its output was requested has no output.", object(wanted), done(""), nil, false, 0, nil, nil},
		"Failed":           {"The empty output of a run that failed early should be kept.", object(wanted), ran(common.PhaseFailed, ""), nil, true, 0, kept("1"), nil},
		"CannotKeep":       {"An error should lead to an event, and not change the kept output.", object(wanted, keeps("0")), done("text"), errBoom, false, 0, kept("0"), cannot},
		"Lasting":          {"Output that is kept for a time should stay until then.", object(wantedFor("24h"), keptAt("1"), recorded), done(""), nil, false, 0, keptSince("1"), nil},
		"Expired":          {"Expired output should be deleted.", object(wantedFor("1h"), keptAt("1"), recorded), done(""), nil, false, 1, nil, nil},
		"Renewed":          {"The output of the next run should replace it.", object(wantedFor("1h"), keptAt("0")), done("text"), nil, true, 0, kept("1"), nil},
		"NoTime":           {"An invalid time should keep no output.", object(wantedFor("-1h"), keptAt("1"), recorded), done(""), nil, false, 1, nil, nil},
		"NotWantedAnyMore": {"Output that is not wanted any more should be deleted.", object(keeps("1")), nil, nil, false, 1, nil, nil},
		"Live":             {"The display of a watched run so far should be saved, without changing the kept output.", object(watches, keeps("0")), shows(common.PhaseRunning, "PLAY"), nil, true, 0, kept("0"), nil},
		"LiveFirst":        {"The status should have the reference to the output of a watched run.", object(watches), shows(common.PhaseRunning, ""), nil, false, 0, kept(""), nil},
		"LiveEnded":        {"The output of an ended run should be saved.", object(watches), done("text"), nil, true, 0, kept("1"), nil},
		"LiveUnwatched":    {"Output that is not watched any more should be deleted.", object(keeps("")), shows(common.PhaseRunning, "PLAY"), nil, false, 1, nil, nil},
		"LiveUntil":        {"Output that was watched until now should be deleted.", object(watchesUntil(0), keeps("")), shows(common.PhaseRunning, "PLAY"), nil, false, 1, nil, nil},
		"LiveForEver":      {"A time that is too far ahead is ignored.", object(watchesUntil(common.MaxWatch+time.Second), keeps("")), shows(common.PhaseRunning, "PLAY"), nil, false, 1, nil, nil},
		"LiveNoTime":       {"An invalid time is ignored.", object(annotated(common.AnnotationWatch, "true"), keeps("")), shows(common.PhaseRunning, "PLAY"), nil, false, 1, nil, nil},
		"LiveQueued":       {"A waiting run has no output.", object(watches), &runs.Report{Run: common.Run{ID: "1"}, Waits: true}, nil, false, 0, kept(""), nil},
		"CannotDrop":       {"An error of a deletion should lead to an event, and be tried again.", object(keeps("1")), nil, errBoom, false, 0, kept("1"), cannot},
	} {
		t.Run(name, func(t *testing.T) {
			k, events := &fakeOutputs{err: tc.err}, reasons(nil)

			e := connect(t, &fakePool{report: tc.report}, tc.run, resolves("a", nil))
			ext, _ := e.(*external)
			ext.Outputs, ext.recorder = k, &events

			if _, err := e.Observe(t.Context(), tc.run); tc.report != nil && tc.report.Run.Phase == common.PhaseSucceeded && err != nil {
				t.Errorf("\n%s\nObserve(...): keeping output should not make a reconcile fail, got %s", tc.reason, err)
			}

			if saved := slices.Equal(k.kept, []string{"1"}); saved != tc.saved || k.dropped != tc.dropped {
				t.Errorf("\n%s\nObserve(...): saved %q, dropped %d", tc.reason, k.kept, k.dropped)
			}

			if diff := cmp.Diff(tc.status, tc.run.Status.AtProvider.KeptOutput) + cmp.Diff(tc.events, events); diff != "" {
				t.Errorf("\n%s\nObserve(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
