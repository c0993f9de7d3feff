package lifecycle

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

func TestRemember(t *testing.T) {
	run := func(id int, phase common.RunPhase) *common.Run {
		return &common.Run{ID: strconv.Itoa(id), Mode: common.ModeApply, Phase: phase, StartTime: at(0), CompletionTime: at(time.Minute), Tasks: 7, Hosts: &common.HostTotals{Changed: 2, Failed: 1, Unreachable: 3}}
	}
	o := &common.AnsibleRunObservation{Approval: &common.ApprovalObservation{State: common.ApprovalApplied, By: "eve"}}

	for i := range 4 {
		for _, phase := range []common.RunPhase{common.PhaseQueued, common.PhaseRunning, common.PhaseSucceeded, common.PhaseSucceeded} {
			o.LastRun = run(i, phase)
			Remember(o, 3)
		}
	}

	o.LastRun = run(5, common.PhaseCanceled)
	o.LastRun.StartTime = nil
	Remember(o, 3)

	var ids []string
	for _, p := range o.History {
		ids = append(ids, p.ID)
	}

	if diff := cmp.Diff([]string{"3", "2", "1"}, ids); diff != "" {
		t.Errorf("the history should have the last runs that ended, each once: -want, +got:\n%s", diff)
	}

	want := common.PastRun{ID: "3", Mode: common.ModeApply, Result: common.PhaseSucceeded, StartTime: at(0), CompletionTime: at(time.Minute), Tasks: 7, Changed: 2, Failed: 4, ApprovedBy: "eve"}
	if diff := cmp.Diff(want, o.History[0]); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}

	if Remember(o, 0); len(o.History) > 0 {
		t.Errorf("a limit of 0 should leave none, not %v", o.History)
	}
}

// TestRememberPolls has equal periodic checks, which take one place in the history.
func TestRememberPolls(t *testing.T) {
	past := []common.PastRun{
		{Mode: common.ModeApply, Trigger: common.TriggerChanged},
		{Mode: common.ModeCheck, Trigger: common.TriggerRequested},
		{Mode: common.ModeCheck, Trigger: common.TriggerPoll},
		{Mode: common.ModeCheck, Trigger: common.TriggerPoll},
		{Mode: common.ModeCheck, Trigger: common.TriggerPoll, Changed: 1},
		{Mode: common.ModeCheck, Trigger: common.TriggerPoll, Changed: 1},
		{Mode: common.ModeApply, Trigger: common.TriggerPoll},
		{Mode: common.ModeApply, Trigger: common.TriggerPoll},
		{Mode: common.ModeCheck, Trigger: common.TriggerPoll},
	}

	o := &common.AnsibleRunObservation{}

	for i, p := range past {
		o.LastRun = &common.Run{
			ID: strconv.Itoa(i), Mode: p.Mode, Trigger: p.Trigger, Phase: common.PhaseSucceeded, Tasks: int64(i),
			StartTime: at(time.Duration(i) * time.Minute), Hosts: &common.HostTotals{Changed: p.Changed},
		}

		Remember(o, len(past))
		Remember(o, len(past))
	}

	var ids []string
	for _, p := range o.History {
		ids = append(ids, p.ID)
	}

	if diff := cmp.Diff([]string{"8", "7", "6", "5", "3", "1", "0"}, ids); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}

	if diff := cmp.Diff(at(5*time.Minute), o.History[3].StartTime); diff != "" {
		t.Errorf("the history should have the latest poll: -want, +got:\n%s", diff)
	}
}

func TestProgress(t *testing.T) {
	apply := common.Run{Mode: common.ModeApply, State: common.StatePresent, Phase: common.PhaseRunning, Tasks: 14, StartTime: at(0)}
	history := []common.PastRun{
		{Mode: common.ModeCheck, State: common.StatePresent, Result: common.PhaseSucceeded, Tasks: 30},
		{Mode: common.ModeApply, State: common.StatePresent, Result: common.PhaseFailed, Tasks: 2},
		{Mode: common.ModeApply, State: common.StateAbsent, Result: common.PhaseSucceeded, Tasks: 20},
		{Mode: common.ModeApply, State: common.StatePresent, Result: common.PhaseSucceeded, Tasks: 40},
	}

	for name, tc := range map[string]struct {
		reason  string
		history []common.PastRun
		behind  string
		change  func(*common.Run)
		want    string
	}{
		"First":  {reason: "The number of tasks of the first run is not known.", want: "task 14"},
		"Again":  {reason: "The number of tasks is that of the last equal run.", history: history, want: "task 14 of ~40"},
		"Check":  {reason: "The number of tasks of a check is that of a check.", history: history, change: func(r *common.Run) { r.Mode = common.ModeCheck }, want: "task 14 of ~30"},
		"More":   {reason: "A number that was exceeded is not shown.", history: history, change: func(r *common.Run) { r.Tasks = 41 }, want: "task 41"},
		"Behind": {reason: "Hosts that have left are shown.", history: history, behind: "2 of 5 hosts left behind", want: "task 14 of ~40, 2 of 5 hosts left behind"},
		"Begins": {reason: "Before the first task, there is no progress.", history: history, change: func(r *common.Run) { r.Tasks = 0 }},
		"Ended":  {reason: "An ended run has no progress, even if its Pod reports one.", history: history, change: func(r *common.Run) { r.Phase, r.Progress = common.PhaseFailed, "no" }},
	} {
		t.Run(name, func(t *testing.T) {
			for _, trigger := range []common.RunTrigger{common.TriggerChanged, common.TriggerPreview} {
				r := runs.Report{Run: apply, Behind: tc.behind, Before: &common.Run{}}
				if r.Run.Trigger = trigger; tc.change != nil {
					tc.change(&r.Run)
				}

				o := common.AnsibleRunObservation{History: tc.history}
				Record(&o, r)

				if diff := cmp.Diff(tc.want, o.LastRun.Progress); diff != "" {
					t.Errorf("\n%s\n%s: -want, +got:\n%s", tc.reason, trigger, diff)
				}
			}
		})
	}
}
