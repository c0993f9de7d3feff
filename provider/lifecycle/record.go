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

// backoff returns the pause after a number of attempts and interruptions.
func backoff(times int64) time.Duration {
	return min(FirstBackoff<<max(min(times-1, 10), 0), lastBackoff)
}

// Record takes a report of the pool into an observation. The same report, or later reports of the run, may be recorded
// again. The observation shares no memory with the report: clients decode the answer of the API server, which may have
// an older status, into the observation.
func Record(o *common.AnsibleRunObservation, r runs.Report) {
	r.Run.Progress = progress(o.History, r)

	if r.Run.Trigger == common.TriggerPreview {
		recordPreview(o, r)
		return
	}

	run := *r.Run.DeepCopy()
	before := o.LastRun
	o.LastRun = &run

	// Interruptions are counted for runs with the same inputs.
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

	// A run that has not begun answers no request, and does not count as an attempt, even if the status has its start
	// time.
	if run.Phase == common.PhaseQueued || r.Waits || run.Reason == runs.ReasonNotStarted {
		return
	}

	if run.Phase == common.PhaseCanceled || r.Blameless {
		r.Attempt-- // The run does not count as an attempt.
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

// count counts interruptions: runs in a row that ended without a fault of the content or the inputs. before is the last
// run in the status.
func count(o *common.AnsibleRunObservation, r runs.Report, before *common.Run) {
	run := r.Run

	switch {
	// An error of the provider may last, so that the back-off grows. NotBefore replaces the back-off, except for a check
	// with content that cannot be installed. A failed check that is repeated has a back-off, too.
	case r.Blameless && r.NotBefore.IsZero(),
		run.Mode == common.ModeCheck && run.Reason == common.ReasonInstallFailed, failedCheck(o, run):
		if before == nil || before.ID != run.ID || !before.Phase.Finished() {
			o.Interruptions++
		}
	case run.Phase.Finished() && run.Phase != common.PhaseCanceled && !r.Blameless:
		o.Interruptions = 0
	}
}

// failedCheck is true for a failed check of inputs that are not applied. If approvals are required, it is false, since
// the check is not repeated: a person decides about changes that it cannot predict.
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

// nextRun returns the time of the next run that the content requests, after a period; nil for none.
func nextRun(run common.Run, after time.Duration) *metav1.Time {
	if after <= 0 || run.CompletionTime == nil {
		return nil
	}

	next := metav1.NewTime(run.CompletionTime.Add(after).Truncate(time.Second))

	return &next
}

// executed is true for a run that may have changed something: once it has ended, or has reported the results of a task.
func executed(r runs.Report) bool {
	begun := r.Run.Phase.Finished() || r.Run.Hosts != nil

	return begun && !r.Untouched
}

// untouched is true when certainly neither an apply nor the failed applies before it have changed anything. An ended
// apply counts only if its content could not be installed, if it was canceled, or if neither content nor inputs made it
// fail.
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

// recordCheck records the result of a check. Inputs without predicted changes count as applied.
func recordCheck(o *common.AnsibleRunObservation, r runs.Report) {
	run := r.Run

	// A check counts as the run that the content has requested, and cannot request another one.
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

// finish records the result of the last apply, and the time of the next attempt.
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

// holdBack delays the next attempt until a time before which it would fail.
func holdBack(a *common.Apply, until time.Time) {
	if next := a.NextRetryTime; next != nil && next.Time.Before(until) {
		*next = metav1.NewTime(until)
	}
}

// AttemptsBefore returns the number of attempts with the same inputs before the last run, which is an apply.
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
