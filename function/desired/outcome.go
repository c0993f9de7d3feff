package desired

import (
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
)

// A Reason is the state of a run, in the form of the reason of a condition.
type Reason string

// Reasons of outcomes.
const (
	// InvalidValue runs are held, since an expression has an error or an invalid value.
	InvalidValue = Reason(expression.Invalid)
	// ValueNotSet runs are held, since a value is missing in the XR.
	ValueNotSet = Reason(expression.NotSet)
	// RunFailed runs failed.
	RunFailed Reason = "RunFailed"
	// AwaitingApproval runs wait for an approval of their changes.
	AwaitingApproval Reason = "AwaitingApproval"
	// Rejected runs have changes that were rejected.
	Rejected Reason = "Rejected"
	// WaitingForWindow runs wait until their window opens.
	WaitingForWindow Reason = "WaitingForWindow"
	// Paused runs are not reconciled until they are resumed.
	Paused Reason = "Paused"
	// ReconcileError runs could not be started or checked.
	ReconcileError Reason = "ReconcileError"
	// ValuePending runs are held, since a run or a resource has not produced a value yet.
	ValuePending = Reason(expression.Pending)
	// OutputWithheld runs are held, since they read an output that contains a secret.
	OutputWithheld = Reason(expression.Withheld)
	// DependencyNotReady runs are held, since a dependency is not ready.
	DependencyNotReady Reason = "DependencyNotReady"
	// Running runs are in progress, or the rendered AnsibleRun is not observed yet.
	Running Reason = "Running"
	// NotReady runs have a ready AnsibleRun, but readyWhen is not true.
	NotReady Reason = "NotReady"
	// Deleting runs were deleted by a user or another controller, and are created again.
	Deleting Reason = "Deleting"
	// Leaving runs are no longer wanted, but stay for now, usually since others depend on them.
	Leaving Reason = "Leaving"
	// RemovalHeld runs are no longer wanted, but stay: removal.atMost does not allow to remove so many of their set.
	RemovalHeld Reason = "RemovalHeld"
	// Retained runs are no longer wanted, and stay permanently.
	Retained Reason = "Retained"
	// Skipped runs are not wanted.
	Skipped Reason = "Skipped"
	// Ready runs are rendered, applied and ready.
	Ready Reason = "Ready"
)

// An Outcome is the result for a run of the input, or for a member of a set. Steps pass their Outcomes to later steps
// as JSON.
type Outcome struct {
	// Name is the name of the run or member. When its run is no longer in the Composition, it is Resource.
	Name string `json:"name"`
	// Resource is the composition resource name.
	Resource string `json:"resource"`
	// Desired is the AnsibleRun to apply; nil for none.
	Desired map[string]any `json:"-"`
	// Reason is the state of the run.
	Reason Reason `json:"reason"`
	// Messages explain the reason. A message may have several lines.
	Messages []string `json:"messages,omitempty"`
	// InProgress is true while content runs.
	InProgress bool `json:"inProgress,omitempty"`
	// Claimed is true for an unwanted AnsibleRun that stays since it may be another run under a previous name.
	Claimed bool `json:"claimed,omitempty"`
	// MayBe is the composition resource name of the unwanted AnsibleRun for which a run is held: the run may be that
	// AnsibleRun under a new name.
	MayBe string `json:"-"`
}

// Held is true for a run that cannot be rendered yet. Its AnsibleRun stays as it is.
func (r Outcome) Held() bool {
	switch r.Reason {
	case InvalidValue, ValueNotSet, OutputWithheld, ValuePending, DependencyNotReady:
		return true
	}

	return false
}

// Unwanted is true for an AnsibleRun that stays although the Composition does not want it.
func (r Outcome) Unwanted() bool {
	switch r.Reason {
	case Leaving, RemovalHeld, Retained:
		return true
	}

	return false
}

// Done is true for a run for which no dependent has to wait.
func (r Outcome) Done() bool {
	return r.Reason == Ready || r.Reason == Skipped || r.Reason == Retained
}
