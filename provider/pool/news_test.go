package pool

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

func TestNewsOf(t *testing.T) {
	was := func() runs.Report {
		return runs.Report{Run: common.Run{Phase: common.PhaseRunning}, Reported: events.Report{
			Outputs: map[string]json.RawMessage{"a": json.RawMessage("1")}, Conditions: []xpv2.Condition{{Type: "Up"}}, Status: json.RawMessage("{}"),
		}}
	}

	for name, tc := range map[string]struct {
		reason string
		change func(*runs.Report)
		want   news
	}{
		"Nothing":    {"A report that says the same is no news of the content.", func(*runs.Report) {}, progressed},
		"Task":       {"Neither is one of another task.", func(r *runs.Report) { r.Run.CurrentTask = "b" }, progressed},
		"Outputs":    {"Outputs are.", func(r *runs.Report) { r.Reported.Outputs["a"] = json.RawMessage("2") }, reported},
		"Conditions": {"So are conditions.", func(r *runs.Report) { r.Reported.Conditions[0].Type = "Down" }, reported},
		"Status":     {"So is the status of the XR.", func(r *runs.Report) { r.Reported.Status = json.RawMessage(`{"a":1}`) }, reported},
		"Phase":      {"A phase is another thing.", func(r *runs.Report) { r.Run.Phase = common.PhaseInstalling }, entered},
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

func TestDue(t *testing.T) {
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

	for name, tc := range map[string]struct {
		reason string
		news   news
		// told is how long after the start of the run something was told, and reported whether by its content.
		told     time.Duration
		reported bool
		want     time.Duration
	}{
		"Phase":    {"A phase should be told when it has lasted for 3 s.", entered, time.Minute, true, 3 * time.Second},
		"First":    {"The first report should not wait.", reported, 0, false, 0},
		"Report":   {"A later one should wait for 10 s.", reported, time.Hour, true, 10 * time.Second},
		"Progress": {"So should progress.", progressed, 0, false, 10 * time.Second},
		"Longer":   {"It should wait the longer the longer the run takes.", progressed, 40 * time.Second, true, 20 * time.Second},
		"Longest":  {"But for a minute at most.", progressed, time.Hour, false, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			e := &entry{begun: begun, told: begun.Add(tc.told), reported: tc.reported}

			if diff := cmp.Diff(tc.want, e.due(tc.news).Sub(e.told)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
