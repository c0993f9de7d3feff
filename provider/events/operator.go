package events

import (
	"encoding/json"
	"time"
)

// actionRequeue is the resolved name of the module with which content of Ansible operators requests another run after a
// period.
const actionRequeue = "operator_sdk.util.requeue_after"

// maxRequeue is the longest period that content may request.
const maxRequeue = 365 * 24 * time.Hour

// recordRequeue records the period after which content requests another run.
func (r *Recorder) recordRequeue(e event, d data) {
	if d.ResolvedAction != actionRequeue || e.Kind != hostOK && e.Kind != itemOK {
		return
	}

	var res struct {
		Period string `json:"period"`
	}

	_ = json.Unmarshal(d.Result, &res)

	// The module only checks the letters of the period.
	if after, err := time.ParseDuration(res.Period); err == nil && after > 0 {
		r.summary.Requeue = min(after, maxRequeue)
	}
}
