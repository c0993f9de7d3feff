package events

import (
	"encoding/json"
	"time"
)

// actionRequeue is the resolved name of the module with which content of Ansible operators says when it
// wants to run again.
const actionRequeue = "operator_sdk.util.requeue_after"

// maxRequeue is the longest time after which content may want to run again.
const maxRequeue = 365 * 24 * time.Hour

// recordRequeue records when content wants to run again.
func (r *Recorder) recordRequeue(e event, d data) {
	if d.ResolvedAction != actionRequeue || e.Kind != hostOK && e.Kind != itemOK {
		return
	}

	var res struct {
		Period string `json:"period"`
	}

	_ = json.Unmarshal(d.Result, &res)

	// The module checks the letters only.
	if after, err := time.ParseDuration(res.Period); err == nil && after > 0 {
		r.summary.Requeue = min(after, maxRequeue)
	}
}
