package controller

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// fakeOutputs remembers what it is told.
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

// reasons of events.
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
	keptAt := func(o *v1alpha1.AnsibleRun) {
		o.Status.AtProvider.KeptOutput = kept("1")
		o.Status.AtProvider.KeptOutput.CompletionTime = at(-time.Hour)
	}
	recorded := func(o *v1alpha1.AnsibleRun) { o.Status.AtProvider.LastRun = &ran(common.PhaseSucceeded, "").Run }
	keeps := func(id string) func(*v1alpha1.AnsibleRun) {
		return func(o *v1alpha1.AnsibleRun) { o.Status.AtProvider.KeptOutput = kept(id) }
	}

	type want struct {
		kept    []string
		dropped int
		status  *common.KeptOutput
		events  reasons
	}

	cases := map[string]struct {
		reason string
		run    *v1alpha1.AnsibleRun
		report *runs.Report
		err    error
		want   want
	}{
		"NotWanted": {
			reason: "Output should be kept only when somebody asks for it.",
			run:    object(),
			report: ran(common.PhaseSucceeded, "text"),
		},
		"InProgress": {
			reason: "What was kept should stay until there is something new.",
			run:    object(wanted, keeps("0")),
			report: ran(common.PhaseRunning, ""),
			want:   want{status: kept("0")},
		},
		"Ended": {
			reason: "The output of a run that has ended should be kept.",
			run:    object(wanted, keeps("0")),
			report: ran(common.PhaseFailed, "text"),
			want:   want{kept: []string{"1"}, status: kept("1")},
		},
		"Kept": {
			reason: "It should be kept once.",
			run:    object(wanted, keeps("1"), recorded),
			report: ran(common.PhaseSucceeded, "text"),
			want:   want{status: kept("1")},
		},
		"SecondTry": {
			reason: "What could not be kept before should be kept before the result is forgotten.",
			run:    object(wanted, recorded),
			report: ran(common.PhaseSucceeded, "text"),
			want:   want{kept: []string{"1"}, status: kept("1")},
		},
		"AskedForTooLate": {
			reason: "A run that was in progress when somebody asked for its output has none.",
			run:    object(wanted),
			report: ran(common.PhaseSucceeded, ""),
		},
		"Failed": {
			reason: "A run that displayed nothing because it failed early should say so.",
			run:    object(wanted),
			report: ran(common.PhaseFailed, ""),
			want:   want{kept: []string{"1"}, status: kept("1")},
		},
		"CannotKeep": {
			reason: "That output cannot be kept should be told, and leave what was kept before.",
			run:    object(wanted, keeps("0")),
			report: ran(common.PhaseSucceeded, "text"),
			err:    errBoom,
			want:   want{status: kept("0"), events: reasons{ReasonCannotKeepOutput}},
		},
		"Lasting": {
			reason: "What is kept for a time should stay until then.",
			run:    object(wantedFor("24h"), keptAt, recorded),
			report: ran(common.PhaseSucceeded, ""),
			want:   want{status: &common.KeptOutput{Namespace: "ns", ConfigMap: "output", RunID: "1", CompletionTime: at(-time.Hour)}},
		},
		"Expired": {
			reason: "It should go when its time is over.",
			run:    object(wantedFor("1h"), keptAt, recorded),
			report: ran(common.PhaseSucceeded, ""),
			want:   want{dropped: 1},
		},
		"Renewed": {
			reason: "The output of the next run should take its place.",
			run:    object(wantedFor("1h"), keptAt, func(o *v1alpha1.AnsibleRun) { o.Status.AtProvider.KeptOutput.RunID = "0" }),
			report: ran(common.PhaseSucceeded, "text"),
			want:   want{kept: []string{"1"}, status: kept("1")},
		},
		"NoTime": {
			reason: "What is no time should keep nothing.",
			run:    object(wantedFor("-1h"), keptAt, recorded),
			report: ran(common.PhaseSucceeded, ""),
			want:   want{dropped: 1},
		},
		"NotWantedAnyMore": {
			reason: "What is kept should be dropped when nobody wants it any more.",
			run:    object(keeps("1")),
			want:   want{dropped: 1},
		},
		"CannotDrop": {
			reason: "That it cannot be dropped should be told, and tried again.",
			run:    object(keeps("1")),
			err:    errBoom,
			want:   want{status: kept("1"), events: reasons{ReasonCannotKeepOutput}},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k, events := &fakeOutputs{err: tc.err}, reasons(nil)

			e := connect(t, &fakePool{report: tc.report}, tc.run, func() (inputs.Inputs, error) { return in("a"), nil })
			ext, _ := e.(*external)
			ext.Outputs, ext.recorder = k, &events

			if _, err := e.Observe(t.Context(), tc.run); tc.report != nil && tc.report.Run.Phase == common.PhaseSucceeded && err != nil {
				t.Errorf("\n%s\nObserve(...): keeping output should not make a reconcile fail, got %s", tc.reason, err)
			}

			got := want{kept: k.kept, dropped: k.dropped, status: tc.run.Status.AtProvider.KeptOutput, events: events}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("\n%s\nObserve(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
