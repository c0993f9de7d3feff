package common

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// History limits of an AnsibleRun.
const (
	// DefaultHistoryLimit is the length of a history, in runs, when spec.forProvider.historyLimit is unset.
	DefaultHistoryLimit = 5
	// MaxHistoryLimit is the largest length of a history, in runs.
	MaxHistoryLimit = 50
)

// A PastRun is a run that has ended.
type PastRun struct {
	// ID of the run.
	ID string `json:"id"`

	// Mode is Apply, or Check for a run that only predicted changes.
	Mode RunMode `json:"mode"`

	// State of the target that the run was to establish: present or absent.
	State RunState `json:"state"`

	// Trigger says why the run was started.
	Trigger RunTrigger `json:"trigger"`

	// Result is the phase that the run ended in.
	Result RunPhase `json:"result"`

	// Reason of a run that did not succeed.
	// +optional
	Reason string `json:"reason,omitempty"`

	// StartTime is when the run was started.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// CompletionTime is when the run ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// Tasks counts the tasks that have begun, in all plays.
	// +optional
	Tasks int64 `json:"tasks,omitempty"`

	// Changed counts the tasks that changed something. For a check it counts the tasks that would have.
	// +optional
	Changed int64 `json:"changed,omitempty"`

	// Failed counts the tasks that failed, and the hosts that could not be reached.
	// +optional
	Failed int64 `json:"failed,omitempty"`

	// ApprovedBy is the user that approved the run, if that was required.
	// +optional
	ApprovedBy string `json:"approvedBy,omitempty"`
}
