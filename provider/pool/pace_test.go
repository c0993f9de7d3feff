package pool

import (
	"encoding/json"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

func TestNewsOf(t *testing.T) {
	was := func() executor.Report {
		return executor.Report{Run: common.Run{Phase: common.PhaseRunning}, Reported: events.Report{
			Outputs: map[string]json.RawMessage{"a": json.RawMessage("1")}, Conditions: []xpv2.Condition{{Type: "Up"}}, Status: json.RawMessage("{}"),
		}}
	}

	for name, tc := range map[string]struct {
		reason string
		change func(*executor.Report)
		want   news
	}{
		"Nothing":    {"A report that says the same is no news of the content.", func(*executor.Report) {}, progressed},
		"Task":       {"Neither is one of another task.", func(r *executor.Report) { r.Run.CurrentTask = "b" }, progressed},
		"Outputs":    {"Outputs are.", func(r *executor.Report) { r.Reported.Outputs["a"] = json.RawMessage("2") }, reported},
		"Conditions": {"So are conditions.", func(r *executor.Report) { r.Reported.Conditions[0].Type = "Down" }, reported},
		"Status":     {"So is the status of the XR.", func(r *executor.Report) { r.Reported.Status = json.RawMessage(`{"a":1}`) }, reported},
		"Phase":      {"A phase is another thing.", func(r *executor.Report) { r.Run.Phase = common.PhaseInstalling }, entered},
	} {
		t.Run(name, func(t *testing.T) {
			now := was()
			tc.change(&now)

			if got := newsOf(was(), now); got != tc.want {
				t.Errorf("%s\nwant %d, got %d", tc.reason, tc.want, got)
			}
		})
	}
}
