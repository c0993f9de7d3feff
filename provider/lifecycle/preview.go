package lifecycle

import (
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// Request returns the token of a request if a run with a trigger answers it; empty otherwise. A preview answers
// requests for previews, and other runs answer other requests.
func Request(token string, t common.RunTrigger) string {
	if strings.HasPrefix(token, common.PreviewRequest) != (t == common.TriggerPreview) {
		return ""
	}

	return token
}

// previews is true when a preview is requested.
func previews(s Situation) bool {
	return s.Request != s.Recorded.HandledRequest && Request(s.Request, common.TriggerPreview) != ""
}

// recordPreview shows a preview as the last run while it is in progress. After its end, only the preview itself is
// changed in the observation: no decision depends on a preview.
func recordPreview(o *common.AnsibleRunObservation, r runs.Report) {
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

	if p.Phase == "" {
		o.LastRun = p.Replaced
	}

	p.Replaced, p.Drift = nil, nil
	p.Phase, p.Reason, p.Message, p.CompletionTime = run.Phase, run.Reason, run.Message, run.CompletionTime

	if h := run.Hosts; h != nil && h.Changed > 0 && run.Phase == common.PhaseSucceeded {
		d := common.Drift{Changed: h.Changed, Tasks: r.Changed}
		p.Drift = d.DeepCopy()
	}

	if !r.Waits && run.Reason != runs.ReasonNotStarted {
		o.HandledRequest = p.Request
	}
}
