package telemetry

import (
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
)

var example = runs.Run{
	Spec: runner.Spec{
		ID: "1", Mode: common.ModeApply, State: common.StatePresent, Trigger: common.TriggerCreated, Attempt: 1,
		Object: runner.Object{Namespace: "ns", Name: "site", UID: "uid"},
	},
	Kind:   v1alpha1.SchemeGroupVersion.WithKind(common.KindAnsibleRun),
	Policy: common.RunOnChange,
}

// execute carries the example out with an Observer.
func execute(o *Observer, phase common.RunPhase) {
	r := example.Report()
	r.Run.Phase = phase
	r.Run.Hosts = &common.HostTotals{OK: 1}

	o.Started(example)
	o.Ended(example, r, 0)
}

// TestObserved carries out the example, which is urgent, and runs with other triggers.
func TestObserved(t *testing.T) {
	var lines []string

	into, sink := &recorded{}, funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: 1})
	o := NewObserver(logging.NewLogrLogger(sink), into, nil)

	execute(o, common.PhaseFailed)

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
		t.Errorf("A failed run should have an event at its beginning, and one at its end: -want, +got:\n%s", diff)
	}

	const of = `"run"="1" "group"="ansible.m.crossplane.io" "namespace"="ns" "name"="site" `

	logged := []string{
		`"level"=0 "msg"="Run begins" ` + of + `"policy"="RunOnChange" "mode"="Apply" "state"="present" "trigger"="Created" "attempt"=1`,
		`"level"=0 "msg"="Run ended" ` + of + `"phase"="Failed" "reason"="" "message"="" "duration"="0s" ` +
			`"recap"="ok=1 changed=0 unreachable=0 failed=0 skipped=0 rescued=0 ignored=0"`,
	}
	if diff := cmp.Diff(logged, lines); diff != "" {
		t.Errorf("The log should have both, too: -want lines, +got lines:\n%s", diff)
	}

	for _, trigger := range []common.RunTrigger{common.TriggerPoll, common.TriggerRetry} {
		j := example
		j.Trigger = trigger

		if o.Started(j); len(into.events) > len(want) {
			t.Errorf("The start of a run with trigger %s should have no event, got %v", trigger, into.events)
		}
	}
}
