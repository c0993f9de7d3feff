package lifecycle

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func applying(phase common.RunPhase, reported ...string) runs.Report {
	start := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	r := runs.Report{
		Run:        common.Run{ID: "1", Mode: common.ModeApply, State: common.StatePresent, Phase: phase, StartTime: &start},
		Generation: 3,
	}

	for i := 0; i < len(reported); i += 2 {
		if r.Reported.Outputs == nil {
			r.Reported.Outputs = map[string]json.RawMessage{}
		}

		r.Reported.Outputs[reported[i]] = json.RawMessage(reported[i+1])
	}

	return r
}

// but returns a report with a change.
func but(r runs.Report, by func(*runs.Report)) runs.Report {
	by(&r)

	return r
}

// TestRecordOutputs records outputs and withheld outputs.
func TestRecordOutputs(t *testing.T) {
	outputs := func(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }
	withheld := func(names ...string) common.Withheld {
		all := common.Withheld{}
		for _, name := range names {
			all[name] = "x"
		}

		return all
	}
	reporting := func(phase common.RunPhase, names []string, reported ...string) runs.Report {
		r := applying(phase, reported...)
		r.Reported.Withheld = withheld(names...)

		return r
	}
	ending := func(r runs.Report, text string, names ...string) runs.Report {
		r.Outputs, r.Withheld = outputs(text), withheld(names...)

		return r
	}
	many := func(name string, n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprint(name, i))
		}

		return all
	}

	type known struct {
		Outputs  string
		Withheld common.Withheld
	}

	one, half := known{`{"a":1}`, nil}, `"`+strings.Repeat("x", events.MaxOutputs/2)+`"`

	for name, tc := range map[string]struct {
		reason string
		was    known
		report runs.Report
		want   known
	}{
		"First": {
			"Reported outputs are recorded while the run goes on.",
			known{"", nil},
			applying(common.PhaseRunning, "a", `{"b":1}`),
			known{`{"a":{"b":1}}`, nil},
		},
		"Merged": {
			"Reported outputs are merged into the recorded ones by name.",
			known{`{"a":{"b":1},"n":12345678901234567890,"u":"<&>"}`, nil},
			applying(common.PhaseRunning, "a", `{"c":2}`),
			known{`{"a":{"c":2},"n":12345678901234567890,"u":"<&>"}`, nil},
		},
		"Reported": {
			"A withheld output is removed, and other withheld outputs stay.",
			known{`{"a":1,"b":2}`, withheld("c")},
			reporting(common.PhaseRunning, []string{"a"}),
			known{`{"b":2}`, withheld("a", "c")},
		},
		"Mended": {
			"An output that is reported without a secret is not withheld any more.",
			known{`{"b":2}`, withheld("a", "c")},
			reporting(common.PhaseRunning, nil, "a", "1", "b", "2"),
			known{`{"a":1,"b":2}`, withheld("c")},
		},
		"Failed": {
			"A failed run keeps its reported outputs, and publishes no others.",
			known{`{"a":1}`, nil},
			ending(reporting(common.PhaseFailed, []string{"a"}, "b", "2"), `{"b":2,"c":3}`),
			known{`{"b":2}`, withheld("a")},
		},
		"Succeeded": {
			"The outputs of a successful run replace all others.",
			known{`{"a":1,"b":2}`, withheld("c", "")},
			ending(reporting(common.PhaseSucceeded, []string{"b"}, "b", "2"), `{"c":3}`, "a"),
			known{`{"c":3}`, withheld("a")},
		},
		"SucceededSilently": {"A successful run without outputs removes all.", one, applying(common.PhaseSucceeded), known{"", nil}},
		"Silent": {
			"A run without reports changes nothing.",
			known{`{"b":2}`, withheld("a")},
			reporting(common.PhaseRunning, nil),
			known{`{"b":2}`, withheld("a")},
		},
		"Full": {
			"One entry stands for too many withheld outputs.",
			known{`{"b":2}`, withheld(many("a", 60)...)},
			reporting(common.PhaseRunning, many("c", 60)),
			known{`{"b":2}`, common.Withheld{"": "more than 100 are withheld"}},
		},
		"TooLarge": {
			"Reported outputs that are too large together with the recorded ones are not merged.",
			known{`{"a":` + half + `}`, withheld("c")},
			reporting(common.PhaseRunning, []string{"d"}, "b", half),
			known{`{"a":` + half + `}`, withheld("c")},
		},
		"Absent": {
			"A run with state absent has no outputs.",
			one, but(applying(common.PhaseRunning, "b", `2`), func(r *runs.Report) { r.Run.State = common.StateAbsent }), one,
		},
		"Check": {
			"A check reports nothing.",
			one, but(applying(common.PhaseSucceeded, "b", `2`), func(r *runs.Report) { r.Run.Mode = common.ModeCheck }), one,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := &common.AnsibleRunObservation{WithheldOutputs: tc.was.Withheld}
			if tc.was.Outputs != "" {
				o.Outputs = outputs(tc.was.Outputs)
			}

			// Every reconcile records the report again.
			for range 2 {
				Record(o, tc.report)

				got := known{"", o.WithheldOutputs}
				if o.Outputs != nil {
					got.Outputs = string(o.Outputs.Raw)
				}

				if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s\nRecord(...): -want, +got:\n%s", tc.reason, diff)
				}
			}
		})
	}
}

// TestRecordWithheldFields has withheld fields, which are replaced together with the status.
func TestRecordWithheldFields(t *testing.T) {
	o := common.AnsibleRunObservation{
		Reported: &apiextensionsv1.JSON{Raw: []byte(`{"a":1}`)}, WithheldReported: common.Withheld{"b": "x"},
	}
	r := applying(common.PhaseSucceeded)

	Record(&o, r)

	if diff := cmp.Diff(common.Withheld{"b": "x"}, o.WithheldReported); diff != "" {
		t.Errorf("A run without a status should not change it: -want, +got:\n%s", diff)
	}

	r.Reported.Status, r.Reported.WithheldStatus = json.RawMessage(`{}`), common.Withheld{"c": "y"}

	Record(&o, r)

	if diff := cmp.Diff(r.Reported.WithheldStatus, o.WithheldReported); diff != "" || string(o.Reported.Raw) != "{}" {
		t.Errorf("A run with a status should replace both: -want, +got:\n%s", diff)
	}
}

// TestRecordCopies decodes another status into a recorded observation, like clients after each write. An old
// status must not change the report of the pool.
func TestRecordCopies(t *testing.T) {
	report := func(mode common.RunMode, task string, at int64) runs.Report {
		then := metav1.Unix(at, 0)

		return runs.Report{
			Run: common.Run{
				ID: task, Mode: mode, State: common.StatePresent, Phase: common.PhaseSucceeded, StartTime: &then, CompletionTime: &then,
				Hosts: &common.HostTotals{OK: at, Changed: at}, Failures: []common.Failure{{Task: task}},
			},
			Content: &common.Content{Digest: task, Roles: []common.ContentItem{{Name: task}}},
			Changed: []common.DriftTask{{Task: task}},
			Outputs: &apiextensionsv1.JSON{Raw: []byte(`"` + task + `"`)},
		}
	}

	for _, mode := range []common.RunMode{common.ModeCheck, common.ModeApply} {
		var was, o common.AnsibleRunObservation

		known := report(mode, "new", 2)
		Record(&was, report(mode, "old", 1))
		Record(&o, known)

		answer, err := json.Marshal(was)
		needs.OK(t, err)
		needs.OK(t, json.Unmarshal(answer, &o))

		if diff := cmp.Diff(report(mode, "new", 2), known); diff != "" {
			t.Errorf("%s: -want report, +got report:\n%s", mode, diff)
		}
	}
}

func TestConditions(t *testing.T) {
	type conditions = []xpv2.Condition

	early := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	late := metav1.NewTime(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))

	condition := func(typ string, status corev1.ConditionStatus, reason string, at metav1.Time, generation int64) xpv2.Condition {
		return xpv2.Condition{
			Type: xpv2.ConditionType(typ), Status: status, Reason: xpv2.ConditionReason(reason), LastTransitionTime: at, ObservedGeneration: generation,
		}
	}
	// The method Equal of conditions leaves out their times.
	type value xpv2.Condition

	plain := func(cs conditions) []value {
		var all []value
		for _, c := range cs {
			all = append(all, value(c))
		}

		return all
	}
	with := func(r runs.Report, cs ...xpv2.Condition) runs.Report {
		r.Reported.Conditions = cs
		return r
	}

	ready := condition("Ready", corev1.ConditionTrue, "Available", early, 2)
	synced := condition("Synced", corev1.ConditionFalse, "ReconcileError", early, 2)
	notCheckable := condition("Checkable", corev1.ConditionFalse, "NotCheckable", early, 2)

	yes := condition("A", corev1.ConditionTrue, "B", early, 2)
	no := condition("A", corev1.ConditionFalse, "B", early, 2)
	told := condition("C", corev1.ConditionTrue, "D", late, 0)

	for name, tc := range map[string]struct {
		reason string
		was    conditions
		report runs.Report
		want   conditions
	}{
		"New":         {"A condition has the generation of the run.", conditions{ready}, with(applying(common.PhaseRunning), condition("A", corev1.ConditionFalse, "B", late, 0)), conditions{ready, condition("A", corev1.ConditionFalse, "B", late, 3)}},
		"SameStatus":  {"The transition time does not change with the reason.", conditions{no, ready}, with(applying(common.PhaseRunning), condition("A", corev1.ConditionFalse, "C", late, 0)), conditions{condition("A", corev1.ConditionFalse, "C", early, 3), ready}},
		"OtherStatus": {"The transition time changes with the status.", conditions{no}, with(applying(common.PhaseRunning), condition("A", corev1.ConditionTrue, "C", late, 0)), conditions{condition("A", corev1.ConditionTrue, "C", late, 3)}},
		"Running":     {"Conditions of former runs stay while a run goes on.", conditions{yes}, applying(common.PhaseRunning), conditions{yes}},
		"Failed":      {"Conditions of former runs stay when a run fails.", conditions{yes}, applying(common.PhaseFailed), conditions{yes}},
		"Succeeded":   {"A successful apply removes conditions that it did not report. The provider's own conditions stay.", conditions{ready, yes, synced, condition("C", corev1.ConditionTrue, "D", early, 2), notCheckable}, with(applying(common.PhaseSucceeded), told), conditions{ready, synced, condition("C", corev1.ConditionTrue, "D", early, 3), notCheckable}},
		"Absent":      {"A run with state absent reports conditions.", conditions{yes}, but(with(applying(common.PhaseSucceeded), told), func(r *runs.Report) { r.Run.State = common.StateAbsent }), conditions{yes, condition("C", corev1.ConditionTrue, "D", late, 3)}},
		"Check":       {"A check reports nothing.", conditions{ready}, but(with(applying(common.PhaseSucceeded), told), func(r *runs.Report) { r.Run.Mode = common.ModeCheck }), conditions{ready}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Conditions(tc.was, tc.report)
			if diff := cmp.Diff(plain(tc.want), plain(got)); diff != "" {
				t.Errorf("%s\nconditions(...): -want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(plain(got), plain(Conditions(got, tc.report))); diff != "" {
				t.Errorf("Every reconcile does it again.\nconditions(...): -first, +second:\n%s", diff)
			}
		})
	}
}
