package runs

import (
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// A Report is what is known of a run. What the provider alone knows has no JSON: a Pod says nothing of it.
type Report struct {
	// Run as it is shown in the status.
	Run common.Run
	// Before is the run that was shown before this one; nil if there was none.
	Before *common.Run `json:"-"`
	// Attempt for these inputs, from 1.
	Attempt int64 `json:"-"`
	// Request that the run answers.
	Request string `json:"-"`
	// Content that the run uses, once it is installed. Its digest is empty when
	// nothing is required.
	Content *common.Content
	// Untouched is true as long as it is certain that the content has changed
	// nothing.
	Untouched bool
	// Blameless is true when neither content nor inputs made the run fail: the provider
	// or its machine is at fault, or nothing was tried. Such a run is no attempt.
	Blameless bool
	// NotBefore is the earliest time of another run, where nothing was tried in this
	// one; zero otherwise.
	NotBefore time.Time `json:"-"`
	// IgnoresState is true when the content is known not to look at the state.
	IgnoresState bool
	// Changed tasks, the first 20.
	Changed []common.DriftTask
	// Behind says how many hosts are left behind while the run goes on; empty for none.
	Behind string
	// Generation of the object that the run belongs to.
	Generation int64 `json:"-"`
	// Reported is what the content has reported so far.
	Reported events.Report
	// Requeue is how long after its end the content wants to run again; 0 if it does not say.
	Requeue time.Duration
	// Outputs that the content published, with what it reported over them, once
	// the run has ended.
	Outputs *apiextensionsv1.JSON
	// Withheld says why other outputs are not among them.
	Withheld common.Withheld
	// ConnectionDetails that the content published.
	ConnectionDetails map[string][]byte
	// Dependents are the kinds of objects that the content has made in the cluster, once the run
	// has ended; nil if they are not watched.
	Dependents []common.DependentKind
	// Kinds of objects that the content has made in the cluster so far, without their state.
	Kinds []common.DependentKind
	// Plan of a run that has waited in its Pod for so long that its object is decided about anew. If the decision has
	// another plan, the run gives way. It is empty for other runs, and once the run may have begun.
	Plan string `json:"-"`
	// Waits is true for a run that waits for its needs or for its turn. It has not begun, whatever the status shows, so it
	// can be dropped.
	Waits bool `json:"-"`
	// Attaching is true while nothing is known of a run that a former provider has begun,
	// other than what the status shows.
	Attaching bool `json:"-"`
	// Output is the end of what a terminal would have shown, redacted and at
	// most events.MaxTail long. It is set once the run has ended, if the run has
	// KeepOutput.
	Output string
	// Tail reads the same of a run in progress; nil if it displays nothing. It takes its time.
	Tail func() string `json:"-"`
}

// Canceled is the report of a run that waits, and that is canceled at a time.
func (r *Report) Canceled(at time.Time) Report {
	c := *r
	c.Waits, c.Run.StartTime, c.Run.Pod = false, nil, nil
	c.Run.Phase, c.Run.Reason, c.Run.Message = common.PhaseCanceled, runner.ReasonCanceled, "canceled before it began"
	c.Run.CompletionTime = new(metav1.NewTime(at.Truncate(time.Second)))

	return c
}

// Interrupted is the report of a run that has ended with its provider. What a run has done that had begun is not known.
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
