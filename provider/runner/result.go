package runner

import (
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
)

// Reasons of results.
const (
	// ReasonTaskFailed is the reason when a task failed on a host.
	ReasonTaskFailed = "TaskFailed"
	// ReasonNoHostsMatched is the reason when no host was processed.
	ReasonNoHostsMatched = "NoHostsMatched"
	// ReasonNoTasksMatched is the reason when tags leave no task to run.
	ReasonNoTasksMatched = "NoTasksMatched"
	// ReasonPlaybookError is the reason when Ansible could not run the playbook.
	ReasonPlaybookError = "PlaybookError"
	// ReasonInvalidInputs is the reason when the inputs do not permit a run.
	ReasonInvalidInputs = "InvalidInputs"
	// ReasonInvalidConnectionDetails is the reason when a Secret cannot hold the connection details that the content
	// published.
	ReasonInvalidConnectionDetails = "InvalidConnectionDetails"
	// ReasonInvalidOutputs is the reason when the content published an output that a status cannot hold.
	ReasonInvalidOutputs = "InvalidOutputs"
	// ReasonOutputsTooLarge is the reason when the content published more outputs than a status can hold.
	ReasonOutputsTooLarge = "OutputsTooLarge"
	// ReasonTooManyConditions is the reason when the content reported more types of conditions than a status can hold.
	ReasonTooManyConditions = "TooManyConditions"
	// ReasonRunTooLarge is the reason when the run used too much disk space.
	ReasonRunTooLarge = "RunTooLarge"
	// ReasonOutOfMemory is the reason when the run used too much memory.
	ReasonOutOfMemory = "OutOfMemory"
	// ReasonCanceled is the reason when the run was canceled.
	ReasonCanceled = "Canceled"
	// ReasonTimedOut is the reason when the run took too long.
	ReasonTimedOut = "TimedOut"
)

// A Result is the result of an execution.
type Result struct {
	// Phase is Succeeded, Failed, TimedOut or Canceled.
	Phase common.RunPhase
	// Reason in CamelCase, empty for Succeeded.
	Reason string
	// Message explains the reason, redacted.
	Message string
	// Untouched is true when it is certain that no task has begun.
	Untouched bool
	// IgnoresState is true when the content is known not to use the state, so that it cannot remove anything.
	IgnoresState bool
	// Summary of the events.
	Summary events.Summary
	// ConnectionDetails that the content published, as the data of a Secret.
	ConnectionDetails map[string][]byte
	// Dependents are the kinds of objects that the content has made in the cluster; nil if they
	// are not watched.
	Dependents []common.DependentKind
	// Output is the end of the display of the run, redacted and at most events.MaxTail long; empty unless
	// Spec.KeepOutput is set.
	Output string
}
