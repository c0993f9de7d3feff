package runs

import (
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// Timeouts of runs.
type Timeouts struct {
	// Default of runs that have none of their own; 0 means the longest.
	Default time.Duration
	// Longest timeout that a run may have; 0 means no limit.
	Longest time.Duration
}

// Of a run with the given parameters; 0 means none. A run that asks for more than the
// longest, or for no timeout, gets the longest. It is not refused, since an object that is
// deleted needs its run.
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
