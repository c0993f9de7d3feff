package lifecycle

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

func TestRemember(t *testing.T) {
	run := func(id int, phase common.RunPhase) *common.Run {
		return &common.Run{ID: strconv.Itoa(id), Mode: common.ModeApply, Phase: phase, StartTime: at(0), CompletionTime: at(time.Minute), Hosts: &common.HostTotals{Changed: 2, Failed: 1, Unreachable: 3}}
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

	want := common.PastRun{ID: "3", Mode: common.ModeApply, Result: common.PhaseSucceeded, StartTime: at(0), CompletionTime: at(time.Minute), Changed: 2, Failed: 4, ApprovedBy: "eve"}
	if diff := cmp.Diff(want, o.History[0]); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}

	if Remember(o, 0); len(o.History) > 0 {
		t.Errorf("a limit of 0 should leave none, not %v", o.History)
	}
}

// Periodic checks that find the same take one place in the history.
func TestRememberPolls(t *testing.T) {
	runs := []common.PastRun{
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

	for i, p := range runs {
		o.LastRun = &common.Run{
			ID: strconv.Itoa(i), Mode: p.Mode, Trigger: p.Trigger, Phase: common.PhaseSucceeded,
			StartTime: at(time.Duration(i) * time.Minute), Hosts: &common.HostTotals{Changed: p.Changed},
		}

		Remember(o, len(runs))
		Remember(o, len(runs))
	}

	var ids []string
	for _, p := range o.History {
		ids = append(ids, p.ID)
	}

	if diff := cmp.Diff([]string{"8", "7", "6", "5", "3", "1", "0"}, ids); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}

	if diff := cmp.Diff(at(5*time.Minute), o.History[3].StartTime); diff != "" {
		t.Errorf("the latest of them should be there: -want, +got:\n%s", diff)
	}
}
