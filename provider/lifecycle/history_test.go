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
