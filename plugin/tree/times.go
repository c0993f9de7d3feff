package tree

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/calendar"
)

// time reads when an AnsibleRun may run, and how often it is tried.
func (n *Node) time(o *unstructured.Unstructured) {
	var p struct {
		Schedule   *common.Times  `json:"schedule"`
		Window     *common.Window `json:"window"`
		RetryLimit int64          `json:"retryLimit"`
	}

	fields, _, _ := unstructured.NestedMap(o.Object, "spec", "forProvider")
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &p) // The API server has read it.

	// What is wrong with a calendar the provider says.
	if c, errs := calendar.New(p.Schedule, p.Window); len(errs) == 0 {
		n.Calendar = c
	}

	canceled := o.GetAnnotations()[common.AnnotationCancel]
	n.Canceled = n.LastRun.Phase == common.PhaseCanceled && n.LastRun.ID == canceled

	a := n.LastApply
	n.exhausted = failed(a) && (p.RetryLimit > 0 && a.Attempts >= p.RetryLimit || a.ID == canceled)
}

// failed is true for an apply that ended without success.
func failed(a common.Apply) bool {
	return a.Result.Finished() && a.Result != common.PhaseSucceeded
}

// GaveUp is true when the last run failed and is not tried again by itself.
func (n *Node) GaveUp() bool {
	return n.exhausted || n.Reason == string(common.ReasonRetriesExhausted)
}

// A Moment is a time at which something happens by itself.
type Moment struct {
	// At is the zero time if nothing happens by itself, or nothing says when.
	At time.Time
	// Window is true if it happens when the window of the AnsibleRun opens.
	Window bool
}

// moment at a time, or when the window opens after it.
func (n *Node) moment(at, now time.Time, periodic bool) Moment {
	from := at
	if from.Before(now) {
		from = now
	}

	if opens := n.Calendar.Opens(from, periodic); !opens.IsZero() {
		return Moment{At: opens, Window: true}
	}

	return Moment{At: at}
}

// Retry is when a run that failed is tried again: an apply, or a check of what is not applied.
func (n *Node) Retry(now time.Time) Moment {
	at := n.LastApply.NextRetryTime
	if n.LastRun.Mode == common.ModeCheck {
		at = n.NextRunTime
	}

	if at == nil || n.GaveUp() {
		return Moment{}
	}

	return n.moment(at.Time, now, false)
}

// Corrects is when the changes that the last check has predicted are applied. It is false if they never are.
func (n *Node) Corrects(now time.Time) (Moment, bool) {
	return n.moment(time.Time{}, now, true), n.allowsApply()
}

// Periodic is when the next periodic run begins. The interval of the provider is not known.
func (n *Node) Periodic(now time.Time) Moment {
	if n.LastRun.CompletionTime == nil || !n.allowsApply() && n.policy != common.CheckWhenObserve {
		return Moment{}
	}

	var due time.Time

	switch {
	case n.NextRunTime != nil:
		due = n.NextRunTime.Time
	case n.Calendar.Scheduled():
		due = n.Calendar.Due(n.LastRun.CompletionTime.Time)
	case n.policy == common.RunOnChange:
		return Moment{}
	}

	return n.moment(due, now, true)
}
