package runner

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// A Run is everything that one execution needs.
type Run struct {
	// ID of the run, unique. Everybody who may see the object knows it.
	ID string
	// Mode says whether the run may change anything.
	Mode common.RunMode
	// State that the run is to bring about.
	State common.RunState
	// Trigger says why the run was started.
	Trigger common.RunTrigger
	// Attempt for these inputs, from 1.
	Attempt int64
	// Object that the run belongs to.
	Object Object
	// Inputs of the run.
	Inputs inputs.Inputs
	// Content that the run uses.
	Content content.Set
	// Timeout of the execution; 0 means none.
	Timeout time.Duration
	// KeepOutput keeps the end of what the run displays.
	KeepOutput bool
}

// Limit says how long the run may take, and what has shortened that.
func (r Run) Limit() string {
	asked := r.Inputs.Parameters.Timeout
	if asked == nil || asked.Duration > 0 && asked.Duration <= r.Timeout {
		return r.Timeout.String()
	}

	return r.Timeout.String() + " (the longest that the provider's --max-timeout allows)"
}

// An Object is what the content is told about its AnsibleRun.
type Object struct {
	Name        string
	Namespace   string
	UID         types.UID
	Generation  int64
	Labels      map[string]string
	Annotations map[string]string
}

// labelClaimNamespace is what Crossplane writes on what it composes for a claim.
const labelClaimNamespace = "crossplane.io/claim-namespace"

// Tenant that the object belongs to: its namespace, or that of the claim that it was
// composed for; empty when it has neither.
func (o Object) Tenant() string {
	if o.Namespace != "" {
		return o.Namespace
	}

	return o.Labels[labelClaimNamespace]
}

// Reasons of results.
const (
	// ReasonTaskFailed is the reason when a task failed on a host.
	ReasonTaskFailed = "TaskFailed"
	// ReasonHostUnreachable is the reason when a host could not be reached.
	ReasonHostUnreachable = "HostUnreachable"
	// ReasonNoHostsMatched is the reason when no host was processed.
	ReasonNoHostsMatched = "NoHostsMatched"
	// ReasonNoTasksMatched is the reason when tags leave no task to run.
	ReasonNoTasksMatched = "NoTasksMatched"
	// ReasonPlaybookError is the reason when Ansible could not run the playbook.
	ReasonPlaybookError = "PlaybookError"
	// ReasonInvalidInputs is the reason when no run can be made of the inputs.
	ReasonInvalidInputs = "InvalidInputs"
	// ReasonInvalidConnectionDetails is the reason when what the content
	// published as connection details cannot be put into a Secret.
	ReasonInvalidConnectionDetails = "InvalidConnectionDetails"
	// ReasonInvalidOutputs is the reason when the content published an output that
	// a status cannot hold.
	ReasonInvalidOutputs = "InvalidOutputs"
	// ReasonOutputsTooLarge is the reason when the content published more
	// outputs than a status can hold.
	ReasonOutputsTooLarge = "OutputsTooLarge"
	// ReasonTooManyConditions is the reason when the content reported more types
	// of conditions than a status can hold.
	ReasonTooManyConditions = "TooManyConditions"
	// ReasonRunTooLarge is the reason when the run took too much of the disk.
	ReasonRunTooLarge = "RunTooLarge"
	// ReasonOutOfMemory is the reason when the run took too much memory.
	ReasonOutOfMemory = "OutOfMemory"
	// ReasonTimedOut is the reason when the run took too long.
	ReasonTimedOut = "TimedOut"
	// ReasonCanceled is the reason when the run was not wanted any more.
	ReasonCanceled = "Canceled"
)

// ObjectOf returns what the content is told about o, as it is now.
func ObjectOf(o metav1.Object) Object {
	return Object{
		Name:        o.GetName(),
		Namespace:   o.GetNamespace(),
		UID:         o.GetUID(),
		Generation:  o.GetGeneration(),
		Labels:      maps.Clone(o.GetLabels()),
		Annotations: maps.Clone(o.GetAnnotations()),
	}
}

// A Result is how an execution ended.
type Result struct {
	// Phase is Succeeded, Failed, TimedOut or Canceled.
	Phase common.RunPhase
	// Reason in CamelCase, empty for Succeeded.
	Reason string
	// Message explains the reason, redacted.
	Message string
	// Untouched is true when it is certain that no task was carried out.
	Untouched bool
	// Summary of the events.
	Summary events.Summary
	// ConnectionDetails that the content published, as the data of a Secret.
	ConnectionDetails map[string][]byte
	// Output is the end of what a terminal would have shown, redacted and at
	// most events.MaxTail long; empty unless it is kept.
	Output string
}
