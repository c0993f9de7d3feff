package desired

import (
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
)

// A Reason says in which state a run is, as the reason of a condition does.
type Reason string

// Reasons of outcomes.
const (
	// InvalidValue runs are held: an expression has no usable value.
	InvalidValue = Reason(expression.Invalid)
	// ValueNotSet runs are held: the XR lacks a value.
	ValueNotSet = Reason(expression.NotSet)
	// RunFailed runs failed.
	RunFailed Reason = "RunFailed"
	// AwaitingApproval runs wait for an approval of what they would change.
	AwaitingApproval Reason = "AwaitingApproval"
	// Rejected runs would change something that was rejected.
	Rejected Reason = "Rejected"
	// WaitingForWindow runs wait until their window opens.
	WaitingForWindow Reason = "WaitingForWindow"
	// Paused runs wait until they are resumed.
	Paused Reason = "Paused"
	// ReconcileError runs could not even be started, or checked.
	ReconcileError Reason = "ReconcileError"
	// ValuePending runs are held: a value is not there yet.
	ValuePending = Reason(expression.Pending)
	// OutputWithheld runs are held: an output that they read has a secret in it.
	OutputWithheld = Reason(expression.Withheld)
	// DependencyNotReady runs are held: another run is not ready.
	DependencyNotReady Reason = "DependencyNotReady"
	// Running runs are in progress, or are to be: what is rendered is not observed yet, or has not run yet.
	Running Reason = "Running"
	// NotReady runs are what they should be, but not ready by what the Composition
	// asks for.
	NotReady Reason = "NotReady"
	// Deleting runs were deleted from outside, and are created again.
	Deleting Reason = "Deleting"
	// Leaving runs are not wanted any more, but stay while others depend on them.
	Leaving Reason = "Leaving"
	// RemovalHeld runs are not wanted any more, but stay: too many of their set would go at
	// once.
	RemovalHeld Reason = "RemovalHeld"
	// Retained runs are not wanted any more, and stay for good.
	Retained Reason = "Retained"
	// Skipped runs are not wanted.
	Skipped Reason = "Skipped"
	// Ready runs are what they should be.
	Ready Reason = "Ready"
)

// An Outcome is what became of a run of the input, or of a member of a set. Steps tell later ones of theirs as JSON.
type Outcome struct {
	// Name of the run. When the run is gone from the Composition, the composition
	// resource name of its AnsibleRun.
	Name string `json:"name"`
	// Resource is the composition resource name.
	Resource string `json:"resource"`
	// Desired is the AnsibleRun to apply; nil when there should be none.
	Desired map[string]any `json:"-"`
	// Reason of the run's state.
	Reason Reason `json:"reason"`
	// Messages explain the reason, each in one line or more.
	Messages []string `json:"messages,omitempty"`
	// InProgress is true while content runs.
	InProgress bool `json:"inProgress,omitempty"`
	// Claimed is true for one that is not wanted, but may be another run under a previous name.
	Claimed bool `json:"claimed,omitempty"`
	// MayBe is the composition resource name of an AnsibleRun that is not wanted any more, and that a run may be which
	// is held for that.
	MayBe string `json:"-"`
}

// Held is true for runs that cannot be rendered yet. They are left as they are.
func (r Outcome) Held() bool {
	switch r.Reason {
	case InvalidValue, ValueNotSet, OutputWithheld, ValuePending, DependencyNotReady:
		return true
	}

	return false
}

// Unwanted is true for runs that stay although this Composition does not want them.
func (r Outcome) Unwanted() bool {
	switch r.Reason {
	case Leaving, RemovalHeld, Retained:
		return true
	}

	return false
}

// Done is true for runs that no other run has to wait for.
func (r Outcome) Done() bool {
	return r.Reason == Ready || r.Reason == Skipped || r.Reason == Retained
}
