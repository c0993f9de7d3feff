package desired

import (
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
)

// A Reason is why a run is not what it should be, or that it is.
type Reason string

// Reasons, those that somebody has to act upon first.
const (
	// InvalidValue runs are held: an expression has no usable value.
	InvalidValue = Reason(expression.Invalid)
	// ValueNotSet runs are held: the XR lacks a value.
	ValueNotSet = Reason(expression.NotSet)
	// RunFailed runs failed.
	RunFailed Reason = "RunFailed"
	// ReconcileError runs could not even be started, or checked.
	ReconcileError Reason = "ReconcileError"
	// ValuePending runs are held: a value is not there yet.
	ValuePending = Reason(expression.Pending)
	// DependencyNotReady runs are held: another run is not ready.
	DependencyNotReady Reason = "DependencyNotReady"
	// Creating runs are rendered, but not observed yet.
	Creating Reason = "Creating"
	// Updating runs are observed otherwise than they are rendered.
	Updating Reason = "Updating"
	// Running runs are in progress.
	Running Reason = "Running"
	// NotReady runs are what they should be, but not ready by what the Composition
	// asks for.
	NotReady Reason = "NotReady"
	// Deleting runs were deleted by somebody, and are made again.
	Deleting Reason = "Deleting"
	// Leaving runs are not wanted any more, but others still depend on them.
	Leaving Reason = "Leaving"
	// RemovalHeld runs are not wanted any more, but too many of their set.
	RemovalHeld Reason = "RemovalHeld"
	// Retained runs are not wanted any more, and not to be removed.
	Retained Reason = "Retained"
	// Skipped runs are not wanted.
	Skipped Reason = "Skipped"
	// Ready runs are what they should be.
	Ready Reason = "Ready"
)

// A Outcome is what became of a run of the input.
type Outcome struct {
	// Name of the run; of one that is gone from the Composition, its
	// composition resource name.
	Name string
	// Resource is the composition resource name.
	Resource string
	// Desired is the AnsibleRun to apply; nil when there should be none.
	Desired map[string]any
	// Reason of the run's state.
	Reason Reason
	// Message explains the reason, a line each.
	Messages []string
}

// Held is true for runs whose new state is not known yet. They are left as they
// are.
func (r Outcome) Held() bool {
	switch r.Reason {
	case InvalidValue, ValueNotSet, ValuePending, DependencyNotReady:
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

// Done is true for runs that need nothing any more.
func (r Outcome) Done() bool {
	return r.Reason == Ready || r.Reason == Skipped || r.Reason == Retained
}
