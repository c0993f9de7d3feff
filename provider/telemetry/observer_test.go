package telemetry

import (
	"context"
	"encoding/json"
	"maps"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

var example = runs.Run{
	Spec: runner.Spec{
		ID: "1", Mode: common.ModeApply, State: common.StatePresent, Trigger: common.TriggerCreated, Attempt: 1,
		Object: runner.Object{Namespace: "ns", Name: "site", UID: "uid"},
	},
	Kind:   v1alpha1.SchemeGroupVersion.WithKind(common.KindAnsibleRun),
	Policy: common.RunOnChange,
}

// A backend of runs.
type backend struct {
	runs.Backend

	execute func(runs.Run, runs.Watch) runs.Report
}

func (b backend) Execute(_ context.Context, r runs.Run, w runs.Watch) runs.Report {
	return b.execute(r, w)
}

// execute the example, observed.
func execute(t *testing.T, o *Observer, phase common.RunPhase) {
	t.Helper()

	x := Observed(backend{execute: func(run runs.Run, _ runs.Watch) runs.Report {
		r := run.Report()
		r.Run.Phase = phase
		r.Run.Hosts = &common.HostTotals{OK: 1}

		return r
	}}, o)

	if r := x.Execute(t.Context(), example, runs.Watch{}); r.Run.Phase != phase {
		t.Errorf("The report should be passed on, got %+v", r)
	}
}

func TestEvents(t *testing.T) {
	into := &recorded{}
	execute(t, NewObserver(logging.NewNopLogger(), into, nil), common.PhaseFailed)

	object := &corev1.ObjectReference{
		APIVersion: "ansible.m.crossplane.io/v1alpha1", Kind: "AnsibleRun", Namespace: "ns", Name: "site", UID: "uid",
	}
	if diff := cmp.Diff([]runtime.Object{object, object}, into.objects); diff != "" {
		t.Errorf("An event should be about the object of the run: -want, +got:\n%s", diff)
	}

	want := []event.Event{
		event.Normal(ReasonRunStarted, "present run has begun: Created"),
		{Type: event.TypeWarning, Reason: ReasonRunFailed, Message: "present run, attempt 1: ", Annotations: map[string]string{}},
	}
	if diff := cmp.Diff(want, into.events); diff != "" {
		t.Errorf("A run that failed should have an event when it begins, and one that says so: -want, +got:\n%s", diff)
	}
}

// TestPoll begins periodic runs and retries.
func TestPoll(t *testing.T) {
	for _, trigger := range []common.RunTrigger{common.TriggerPoll, common.TriggerRetry} {
		into := &recorded{}
		j := example
		j.Trigger = trigger

		NewObserver(logging.NewNopLogger(), into, nil).started(j)

		if len(into.events) > 0 {
			t.Errorf("%s is no news before it has ended, got %v", trigger, into.events)
		}
	}
}

func TestLog(t *testing.T) {
	type line map[string]any

	var got []line

	sink := funcr.NewJSON(func(obj string) {
		l := line{}
		needs.OK(t, json.Unmarshal([]byte(obj), &l))

		if l["msg"] == "Run ended" {
			delete(l, "duration")
		}

		got = append(got, l)
	}, funcr.Options{Verbosity: 1})

	execute(t, NewObserver(logging.NewLogrLogger(sink), event.NewNopRecorder(), nil), common.PhaseSucceeded)

	base := func(msg string, kv line) line {
		l := line{"logger": "", "level": 0.0, "msg": msg, "run": "1", "group": "ansible.m.crossplane.io", "namespace": "ns", "name": "site"}
		maps.Copy(l, kv)

		return l
	}

	want := []line{
		base("Run begins", line{"policy": "RunOnChange", "mode": "Apply", "state": "present", "trigger": "Created", "attempt": 1.0}),
		base("Run ended", line{
			"phase": "Succeeded", "reason": "", "message": "",
			"recap": "ok=1 changed=0 unreachable=0 failed=0 skipped=0 rescued=0 ignored=0",
		}),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want lines, +got lines:\n%s", diff)
	}
}
