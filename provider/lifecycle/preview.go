package lifecycle

import (
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

// Request returns the token that a run answers: a preview answers those that ask for one, and other runs
// answer the others. It is empty if the run does not answer the token.
func Request(token string, t common.RunTrigger) string {
	if strings.HasPrefix(token, common.CheckRequest) != (t == common.TriggerPreview) {
		return ""
	}

	return token
}

// previews is true when somebody wants to see what an apply would change.
func previews(s Situation) bool {
	return s.Request != s.Recorded.HandledRequest && Request(s.Request, common.TriggerPreview) != ""
}

// recordPreview shows a preview as the last run while it is in progress. Once it has ended, the
// observation is what it was before, but for the result: no decision depends on a preview.
func recordPreview(o *common.AnsibleRunObservation, r executor.Report) {
	run := *r.Run.DeepCopy()

	p := o.Preview.DeepCopy()
	if p == nil || p.RunID != run.ID {
		p = &common.Preview{RunID: run.ID, Request: r.Request, Replaced: r.Before.DeepCopy()}
	}

	o.Preview = p

	if !run.Phase.Finished() {
		o.LastRun = &run
		return
	}

	if p.Run == nil {
		o.LastRun = p.Replaced
	}

	p.Run, p.Replaced, p.Drift = &run, nil, nil

	if h := run.Hosts; h != nil && h.Changed > 0 && run.Phase == common.PhaseSucceeded {
		d := common.Drift{Time: run.CompletionTime, Changed: h.Changed, Tasks: r.Changed}
		p.Drift = d.DeepCopy()
	}

	if run.Reason != executor.ReasonNotStarted {
		o.HandledRequest = p.Request
	}
}

// interruptPreview that has ended with the provider. One that had begun is not tried again.
func interruptPreview(o *common.AnsibleRunObservation) {
	p := o.Preview.DeepCopy()
	if p == nil || p.RunID != o.LastRun.ID {
		return
	}

	if o.LastRun.StartTime != nil {
		o.HandledRequest = p.Request
	}

	p.Run, o.LastRun, p.Replaced = o.LastRun, p.Replaced, nil
	o.Preview = p
}
