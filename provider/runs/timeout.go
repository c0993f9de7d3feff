package runs

import (
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// Timeouts are the provider's settings for timeouts of runs.
type Timeouts struct {
	// Default is the timeout of runs without one; 0 means Longest.
	Default time.Duration
	// Longest timeout that a run may have; 0 means no limit.
	Longest time.Duration
}

// Of returns the timeout of a run with parameters; 0 means none. A run with a longer timeout than Longest, or without
// one, gets Longest. It is not refused, since a deleted object needs its run.
func (t Timeouts) Of(p common.AnsibleRunParameters) time.Duration {
	d := t.Default
	if p.Timeout != nil {
		d = p.Timeout.Duration
	}

	if t.Longest > 0 && (d == 0 || d > t.Longest) {
		return t.Longest
	}

	return d
}
