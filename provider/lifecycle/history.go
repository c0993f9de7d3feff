package lifecycle

import (
	"slices"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// Remember the last run in the history, which has at most limit runs, the latest first. A run that
// has not ended, or was never started, is none. Remembering the same run again is safe.
func Remember(o *common.AnsibleRunObservation, limit int) {
	defer func() { o.History = o.History[:min(len(o.History), max(limit, 0))] }()

	r := o.LastRun
	if r == nil || !r.Phase.Finished() || r.StartTime == nil {
		return
	}

	p := common.PastRun{
		ID: r.ID, Mode: r.Mode, State: r.State, Trigger: r.Trigger, Result: r.Phase, Reason: r.Reason,
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

	// Polls that find the same again must not push out what was applied.
	if i < 0 && len(o.History) > 0 && repeats(p, o.History[0]) {
		i = 0
	}

	if i < 0 {
		o.History = slices.Insert(slices.Clone(o.History), 0, p)
		return
	}

	// It may be that the approval of the run was replaced meanwhile.
	if p.ApprovedBy == "" {
		p.ApprovedBy = o.History[i].ApprovedBy
	}

	o.History = slices.Clone(o.History)
	o.History[i] = p
}

// repeats is true for a periodic check that has found what the one before it has.
func repeats(p, before common.PastRun) bool {
	for _, c := range []*common.PastRun{&p, &before} {
		if c.Mode != common.ModeCheck || c.Trigger != common.TriggerPoll {
			return false
		}

		c.ID, c.StartTime, c.CompletionTime = "", nil, nil
	}

	return p == before
}
