package runs

import (
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// A Report is the known state of a run. Fields without JSON are known only to the provider, and not part of reports of
// a Pod.
type Report struct {
	// Run as it is shown in the status.
	Run common.Run
	// Before is the run in the status before this one; nil if there was none.
	Before *common.Run `json:"-"`
	// Attempt is the number of the attempt with these inputs, from 1.
	Attempt int64 `json:"-"`
	// Request that the run answers.
	Request string `json:"-"`
	// Content that the run uses, once it is installed. Its digest is empty if no content is required.
	Content *common.Content
	// Untouched is true as long as the content has certainly changed nothing.
	Untouched bool
	// Blameless is true if neither the content nor the inputs made the run fail: the provider or its machine did, or the
	// run was not tried. Such a run does not count as an attempt.
	Blameless bool
	// NotBefore is the earliest time of another run after one that was not tried; zero for other runs.
	NotBefore time.Time `json:"-"`
	// IgnoresState is true if the content is known not to use the state.
	IgnoresState bool
	// Changed tasks, the first 20.
	Changed []common.DriftTask
	// Behind says how many hosts have left the plays of a run in progress; empty for none.
	Behind string
	// Generation of the object that the run belongs to.
	Generation int64 `json:"-"`
	// Reported has the values that the content has reported so far.
	Reported events.Report
	// Requeue is the time after its end at which the content requests another run; 0 for none.
	Requeue time.Duration
	// Outputs that the content published, overridden by reported outputs, once the run has ended.
	Outputs *apiextensionsv1.JSON
	// Withheld has the reasons why other outputs are left out, by name.
	Withheld common.Withheld
	// ConnectionDetails that the content published.
	ConnectionDetails map[string][]byte
	// Dependents are the kinds of objects that the content has made in the cluster, once the run
	// has ended; nil if they are not watched.
	Dependents []common.DependentKind
	// Kinds of objects that the content has made in the cluster so far, without their state.
	Kinds []common.DependentKind
	// Plan is the plan of a run that has waited in its Pod for a while, so that its object is decided about again. The run
	// is revoked if the decision has another plan. It is empty for other runs, and once the run may have begun.
	Plan string `json:"-"`
	// Waits is true for a run that waits for its needs or for its turn. It has not begun, even if the status has its start
	// time, and can be dropped.
	Waits bool `json:"-"`
	// Attaching is true while a run of the predecessor is known only from the status.
	Attaching bool `json:"-"`
	// Output is the end of the display, redacted and at most events.MaxTail long. It is set once the run has ended, if the
	// run has KeepOutput.
	Output string
	// Tail returns the end of the display of a run in progress; nil if it is not kept. The call may need some time.
	Tail func() string `json:"-"`
}

// Canceled returns the report of a waiting run that was canceled at a time.
func (r *Report) Canceled(at time.Time) Report {
	c := *r
	c.Waits, c.Run.StartTime, c.Run.Pod = false, nil, nil
	c.Run.Phase, c.Run.Reason, c.Run.Message = common.PhaseCanceled, runner.ReasonCanceled, "canceled before it began"
	c.Run.CompletionTime = new(metav1.NewTime(at.Truncate(time.Second)))

	return c
}

// Interrupted returns the report of a run that has ended with its provider. A run that had begun may have changed
// something.
func (r *Report) Interrupted(at time.Time) Report {
	c := *r
	c.Untouched, c.Blameless = false, true
	c.Run.Phase, c.Run.Reason, c.Run.CurrentTask = common.PhaseInterrupted, ReasonProviderEnded, ""
	c.Run.Message = "the provider ended while the run was in progress"
	c.Run.CompletionTime = new(metav1.NewTime(at.Truncate(time.Second)))

	if c.Waits {
		c.Run.Message = "the provider ended before the run began"
	}

	return c
}
