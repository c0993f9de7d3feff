package lifecycle

import (
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// Back-off between attempts for the same inputs.
const (
	FirstBackoff = 5 * time.Second
	lastBackoff  = 10 * time.Minute
)

// backoff after the given number of attempts and interruptions.
func backoff(times int64) time.Duration {
	return min(FirstBackoff<<max(min(times-1, 10), 0), lastBackoff)
}

// Record a report of the pool in an observation. Recording the same report again, or a
// later one, is safe. The observation shares nothing with the report: clients decode
// the answer of the API server, which may hold an older status, into the observation.
func Record(o *common.AnsibleRunObservation, r runs.Report) {
	r.Run.Progress = progress(o.History, r)

	if r.Run.Trigger == common.TriggerPreview {
		recordPreview(o, r)
		return
	}

	run := *r.Run.DeepCopy()
	before := o.LastRun
	o.LastRun = &run

	// Interruptions in a row are those of runs with the same inputs.
	if before != nil && before.ID != run.ID && before.InputsDigest != run.InputsDigest {
		o.Interruptions = 0
	}

	switch {
	case r.Content == nil:
		// The content is not known yet, or could not be installed.
	case r.Content.Digest == "":
		o.Content = nil
	default:
		o.Content = r.Content.DeepCopy()
	}

	// A run that has not begun answers no request and is no attempt, also when its start
	// was already shown in the status.
	if run.Phase == common.PhaseQueued || r.Waits || run.Reason == runs.ReasonNotStarted {
		return
	}

	if run.Phase == common.PhaseCanceled || r.Blameless {
		r.Attempt-- // The content did not fail.
	}

	count(o, r, before)

	if run.Phase.Finished() && r.Request != "" {
		o.HandledRequest = r.Request
	}

	if s := r.Reported.Status; s != nil && run.Mode == common.ModeApply {
		o.Reported, o.WithheldReported = &apiextensionsv1.JSON{Raw: slices.Clone(s)}, r.Reported.WithheldStatus.DeepCopy()
	}

	if run.State == common.StatePresent {
		recordDependents(o, r)
	}

	if run.Mode == common.ModeCheck {
		recordCheck(o, r)
		return
	}

	recordApply(o, r)
}

// count the runs in a row that ended by no fault of theirs. Before is the last run that was known.
func count(o *common.AnsibleRunObservation, r runs.Report, before *common.Run) {
	run := r.Run

	switch {
	// A fault of the provider may last, so the back-off grows with each one. A run with NotBefore is held back by that
	// time instead, unless it is a check of a source that is out of order, which nothing else holds back. So it is with
	// a check that has failed and is to be tried again.
	case r.Blameless && r.NotBefore.IsZero(),
		run.Mode == common.ModeCheck && run.Reason == common.ReasonInstallFailed, failedCheck(o, run):
		if before == nil || before.ID != run.ID || !before.Phase.Finished() {
			o.Interruptions++
		}
	case run.Phase.Finished() && run.Phase != common.PhaseCanceled && !r.Blameless:
		o.Interruptions = 0
	}
}

// failedCheck is true for a check of inputs that are not applied, which has failed by itself. Where its apply has to be
// approved it is not tried again: a person decides about what it cannot tell.
func failedCheck(o *common.AnsibleRunObservation, r common.Run) bool {
	return r.Mode == common.ModeCheck && r.State == common.StatePresent && r.MetadataDigest == "" && r.Phase.Finished() &&
		r.Phase != common.PhaseSucceeded && !r.CutOff() && r.InputsDigest != o.AppliedDigest
}

// recordApply records a report about an apply that has begun.
func recordApply(o *common.AnsibleRunObservation, r runs.Report) {
	run := r.Run

	o.Executed = o.Executed || executed(r)
	o.LastApply = &common.Apply{
		ID:           run.ID,
		State:        run.State,
		InputsDigest: run.InputsDigest,
		Attempts:     r.Attempt,
		Untouched:    untouched(o.LastApply, r),
	}

	if run.Phase.Finished() {
		finish(o, run.Phase, run.CompletionTime)
		holdBack(o.LastApply, r.NotBefore)
	}

	if run.Phase == common.PhaseSucceeded && run.State == common.StatePresent {
		o.NextRunTime = nextRun(run, r.Requeue)
		o.AppliedDigest = run.InputsDigest
		o.Drift = nil
	}

	if a := o.Approval; run.Phase == common.PhaseSucceeded && a != nil && a.State == common.ApprovalApproved {
		o.Approval = a.DeepCopy()
		o.Approval.State = common.ApprovalApplied
	}

	recordOutputs(o, r)
	recordDetails(o, r)
}

// nextRun is when the next run follows that is not at a poll; nil if that is not known.
func nextRun(run common.Run, after time.Duration) *metav1.Time {
	if after <= 0 || run.CompletionTime == nil {
		return nil
	}

	next := metav1.NewTime(run.CompletionTime.Add(after).Truncate(time.Second))

	return &next
}

// executed is true for a run that may have changed something. Of a run in progress that is
// known once it has reported something.
func executed(r runs.Report) bool {
	begun := r.Run.Phase.Finished() || r.Run.Hosts != nil

	return begun && !r.Untouched
}

// untouched is true when it is certain that neither an apply nor the failed ones before it
// have changed anything. An apply that has ended counts only if its content could not be
// installed, or if neither content nor inputs made it fail.
func untouched(before *common.Apply, r runs.Report) bool {
	switch {
	case before != nil && before.Result != common.PhaseSucceeded && !before.Untouched:
		return false
	case !r.Untouched, r.Run.Phase == common.PhaseSucceeded:
		return false
	case !r.Run.Phase.Finished():
		return true
	}

	return r.Content == nil || r.Blameless || r.Run.Phase == common.PhaseCanceled
}

// recordCheck records what a check run has found. Inputs for which there is nothing to change
// count as applied.
func recordCheck(o *common.AnsibleRunObservation, r runs.Report) {
	run := r.Run

	// A check is a run, too. It cannot tell when the content wants to run again.
	if next := o.NextRunTime; next != nil && run.Phase.Finished() && !run.CompletionTime.Before(next) {
		o.NextRunTime = nil
	}

	if failedCheck(o, run) {
		o.NextRunTime = nextRun(run, backoff(o.Interruptions))
	}

	if run.Phase != common.PhaseSucceeded || run.Hosts == nil {
		return
	}

	o.Drift = nil

	switch {
	case run.Hosts.Changed > 0:
		d := common.Drift{Changed: run.Hosts.Changed, Tasks: r.Changed}
		o.Drift = d.DeepCopy()
	case run.Reason != runs.ReasonNotCheckable && run.State == common.StatePresent:
		o.AppliedDigest = run.InputsDigest
	}
}

// finish records the result of the last apply, and when the next attempt follows.
func finish(o *common.AnsibleRunObservation, result common.RunPhase, at *metav1.Time) {
	a := o.LastApply
	a.Result = result
	a.CompletionTime = at.DeepCopy()

	if result == common.PhaseSucceeded || at == nil {
		return
	}

	next := metav1.NewTime(at.Add(backoff(a.Attempts + o.Interruptions)))
	a.NextRetryTime = &next
}

// holdBack the next attempt until a time before which it would fail.
func holdBack(a *common.Apply, until time.Time) {
	if next := a.NextRetryTime; next != nil && next.Time.Before(until) {
		*next = metav1.NewTime(until)
	}
}

// AttemptsBefore is the number of attempts with the same inputs before the last run, which is
// an apply.
func AttemptsBefore(o *common.AnsibleRunObservation) int64 {
	a, r := o.LastApply, o.LastRun

	switch {
	case a == nil:
		return 0
	case a.ID == r.ID:
		return max(a.Attempts-1, 0)
	case failed(a) && a.State == r.State && a.InputsDigest == r.InputsDigest:
		return a.Attempts
	}

	return 0
}
