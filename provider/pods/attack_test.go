package pods

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// TestAttackReport has a hostile image that sends reports that a run cannot send: with values that a status, a Secret
// or a metric cannot hold, or that are too large. The API server would refuse every update with them.
func TestAttackReport(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	early := metav1.NewTime(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC))
	up := xpv2.Condition{Type: "Up", Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Unix(1767319445, 0))}
	dependents := []common.DependentKind{{APIVersion: "v1", Kind: "Secret", Resource: "secrets"}}
	path := []common.DependentKind{{APIVersion: "v1", Kind: "Secret", Resource: "../secrets"}}

	// ends returns a last report with a change, and goesOn another report with a change.
	ends := func(change func(*runs.Report)) runs.Report {
		r := runs.Report{Run: common.Run{
			ID: "forged", Phase: common.PhaseFailed, CompletionTime: new(metav1.NewTime(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))),
		}}
		change(&r)

		return r
	}
	goesOn := func(change func(*runs.Report)) runs.Report {
		r := ends(func(r *runs.Report) { r.Run.Phase = common.PhaseRunning })
		change(&r)

		return r
	}
	phase := func(p common.RunPhase) func(*runs.Report) { return func(r *runs.Report) { r.Run.Phase = p } }
	conditions := func(all ...xpv2.Condition) runs.Report {
		return ends(func(r *runs.Report) { r.Reported.Conditions = all })
	}
	with := func(change func(*xpv2.Condition)) xpv2.Condition {
		c := up
		change(&c)

		return c
	}

	for name, tc := range map[string]struct {
		reason string
		report runs.Report
		taken  bool
	}{
		"Succeeded":   {"A last report ends the run.", ends(phase(common.PhaseSucceeded)), true},
		"NoPhase":     {"A phase that the API server would refuse is refused.", goesOn(phase("Hacked")), false},
		"Interrupted": {"Only the cluster can tell that a run was interrupted.", ends(phase(common.PhaseInterrupted)), false},
		"Year":        {"Times must be possible times of a run.", ends(func(r *runs.Report) { r.Content = &common.Content{Resolved: &early} }), false},

		"Dependents":    {"Dependents of a run without access to the API server are dropped.", ends(func(r *runs.Report) { r.Dependents = dependents }), true},
		"Kinds":         {"Kinds of a run in progress without access to the API server are dropped.", goesOn(func(r *runs.Report) { r.Kinds = dependents }), true},
		"DependentPath": {"A watched kind must be the name of a kind, and not a path.", ends(func(r *runs.Report) { r.Dependents = path }), false},
		"KindPath":      {"A kind of a run in progress must not be a path.", goesOn(func(r *runs.Report) { r.Kinds = path }), false},
		"DependentMany": {"The number of dependents is limited as for a run in the provider.", ends(func(r *runs.Report) { r.Dependents = slices.Repeat(dependents, 101) }), false},

		"Condition":     {"A run reports conditions.", conditions(up), true},
		"OwnCondition":  {"Conditions of Crossplane are dropped.", conditions(xpv2.Available()), true},
		"NoStatus":      {"A condition has one of three statuses.", conditions(with(func(c *xpv2.Condition) { c.Status = "Maybe" })), false},
		"NoTime":        {"A condition has a time.", conditions(with(func(c *xpv2.Condition) { c.LastTransitionTime = metav1.Time{} })), false},
		"LongCondition": {"The message of a condition is bounded.", conditions(with(func(c *xpv2.Condition) { c.Message = long })), false},
		"Twice":         {"The types of conditions must be unique.", conditions(up, up), false},

		"Outputs":     {"A run has outputs.", ends(func(r *runs.Report) { r.Outputs = raw(`{"a":{"b":1.5}}`) }), true},
		"NoObject":    {"Outputs are an object.", ends(func(r *runs.Report) { r.Outputs = raw(`[]`) }), false},
		"LongOutputs": {"Outputs are bounded.", ends(func(r *runs.Report) { r.Outputs = raw(`{"a":"` + long + `"}`) }), false},
		"LongReported": {"Reported outputs are bounded.", ends(func(r *runs.Report) {
			r.Reported.Outputs = map[string]json.RawMessage{"a": json.RawMessage(`"` + long + `"`)}
		}), false},
		"Number":      {"A number that the API server cannot keep is refused.", ends(func(r *runs.Report) { r.Outputs = raw(`{"a":1e999}`) }), false},
		"Details":     {"A run has connection details.", ends(func(r *runs.Report) { r.ConnectionDetails = map[string][]byte{"a.b": []byte("x")} }), true},
		"NoKey":       {"Names of connection details must be keys of a Secret.", ends(func(r *runs.Report) { r.ConnectionDetails = map[string][]byte{"a/b": nil} }), false},
		"LongDetails": {"Connection details must fit into a Secret.", ends(func(r *runs.Report) { r.ConnectionDetails = map[string][]byte{"a": []byte(long + "x")} }), false},

		"Items":       {"The number of collections is bounded.", ends(func(r *runs.Report) { r.Content = &common.Content{Collections: make([]common.ContentItem, 100_000)} }), false},
		"LongItem":    {"The size of the content in the status is bounded.", ends(func(r *runs.Report) { r.Content = &common.Content{Roles: []common.ContentItem{{Source: long}}} }), false},
		"Texts":       {"Texts are cut.", ends(func(r *runs.Report) { r.Run.Message, r.Output = long, long }), true},
		"LongTask":    {"The name of a task is bounded.", ends(func(r *runs.Report) { r.Run.CurrentTask = long }), false},
		"Failures":    {"The number of failures is bounded.", ends(func(r *runs.Report) { r.Run.Failures = make([]common.Failure, 1000) }), false},
		"LongFailure": {"The message of a failure is bounded.", ends(func(r *runs.Report) { r.Run.Failures = []common.Failure{{Message: long[:maxRun]}} }), false},
		"Changed":     {"The number of changed tasks is bounded.", ends(func(r *runs.Report) { r.Changed = make([]common.DriftTask, 1000) }), false},
		"LongDiff":    {"A diff is bounded.", ends(func(r *runs.Report) { r.Changed = []common.DriftTask{{Diff: long}} }), false},
	} {
		t.Run(name, func(t *testing.T) {
			r, ended := onCluster(t), tc.report.Run.Phase.Finished()

			taken := checked(&tc.report)
			if taken != tc.taken {
				t.Fatalf("%s\nchecked(...): want %t, got %t", tc.reason, tc.taken, taken)
			}

			if taken && r.take(tc.report) != ended {
				t.Errorf("%s\nOnly the last report should end the run.", tc.reason)
			}

			got, want := r.report, common.PhaseQueued
			if taken {
				want = tc.report.Run.Phase
			}

			if got.Run.Phase != want || got.Run.ID != r.todo.ID ||
				len(got.Dependents)+len(got.Kinds) > 0 || slices.ContainsFunc(got.Reported.Conditions, common.IsOwn) {
				t.Errorf("%s\ntake(...): got %+v", tc.reason, got)
			}

			if at := got.Run.CompletionTime; taken && ended && at.After(time.Now()) {
				t.Errorf("A run should not end in the future: %s", at)
			}

			got.ConnectionDetails = nil

			text, err := json.Marshal(got) //nolint:musttag // Only the length matters.
			if err != nil || len(text) > 200<<10 || len(got.Changed) > events.MaxChanged || len(got.Run.Failures) > events.MaxFailures {
				t.Errorf("%s\nThe status would get %d bytes, %v", tc.reason, len(text), err)
			}
		})
	}
}
