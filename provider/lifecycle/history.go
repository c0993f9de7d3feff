package lifecycle

import (
	"fmt"
	"slices"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// Remember adds the last run to the history, which has at most limit runs, the latest first. Runs that have not ended
// or were never started are left out. Remember may be called several times for the same run.
func Remember(o *common.AnsibleRunObservation, limit int) {
	defer func() { o.History = o.History[:min(len(o.History), max(limit, 0))] }()

	r := o.LastRun
	if r == nil || !r.Phase.Finished() || r.StartTime == nil {
		return
	}

	p := common.PastRun{
		ID: r.ID, Mode: r.Mode, State: r.State, Trigger: r.Trigger, Result: r.Phase, Reason: r.Reason, Tasks: r.Tasks,
		StartTime: r.StartTime.DeepCopy(), CompletionTime: r.CompletionTime.DeepCopy(),
	}

	if h := r.Hosts; h != nil {
		p.Changed, p.Failed = h.Changed, h.Failed+h.Unreachable
	}

	if a := o.Approval; a != nil && r.Mode == common.ModeApply &&
		(a.State == common.ApprovalApproved || a.State == common.ApprovalApplied) {
		p.ApprovedBy = a.By
	}

	i := slices.IndexFunc(o.History, func(h common.PastRun) bool { return h.ID == r.ID })

	// Equal polls must not displace other runs.
	if i < 0 && len(o.History) > 0 && repeats(p, o.History[0]) {
		i = 0
	}

	if i < 0 {
		o.History = slices.Insert(slices.Clone(o.History), 0, p)
		return
	}

	// The approval of the run may have been replaced since.
	if p.ApprovedBy == "" {
		p.ApprovedBy = o.History[i].ApprovedBy
	}

	o.History = slices.Clone(o.History)
	o.History[i] = p
}

// repeats is true for a periodic check with the same result as the one before it.
func repeats(p, before common.PastRun) bool {
	for _, c := range []*common.PastRun{&p, &before} {
		if c.Mode != common.ModeCheck || c.Trigger != common.TriggerPoll {
			return false
		}

		c.ID, c.Tasks, c.StartTime, c.CompletionTime = "", 0, nil, nil
	}

	return p == before
}

// progress returns the progress of a run for the status. The number of tasks is that of the last successful run with
// the same mode and state.
func progress(history []common.PastRun, r runs.Report) string {
	if r.Run.Phase != common.PhaseRunning || r.Run.Tasks == 0 {
		return ""
	}

	text := fmt.Sprintf("task %d", r.Run.Tasks)

	i := slices.IndexFunc(history, func(p common.PastRun) bool {
		return p.Result == common.PhaseSucceeded && p.Mode == r.Run.Mode && p.State == r.Run.State
	})
	if i >= 0 && history[i].Tasks >= r.Run.Tasks {
		text += fmt.Sprintf(" of ~%d", history[i].Tasks)
	}

	if r.Behind != "" {
		text += ", " + r.Behind
	}

	return text
}
