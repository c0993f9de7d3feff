package ansiblerun

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/job"
)

// Back-off between attempts for the same inputs.
const (
	firstBackoff = 5 * time.Second
	lastBackoff  = 10 * time.Minute
)

// backoff after the given number of attempts.
func backoff(attempts int64) time.Duration {
	d := firstBackoff
	for range attempts - 1 {
		d = min(2*d, lastBackoff)
		if d == lastBackoff {
			break
		}
	}

	return d
}

// record what the pool knows of a run. It may be called any number of times
// with the same or a later report, of which nothing is shared: clients decode what
// the API server answers over what is there, and it may answer with an older
// status.
func record(o *common.AnsibleRunObservation, r job.Report) {
	// The end of an apply that nobody heard of, when the next run is known already.
	if a := o.LastApply; a != nil && a.ID != r.Run.ID && a.Result == "" {
		o.Executed = true
	}

	run := *r.Run.DeepCopy()
	o.LastRun = &run

	switch {
	case r.Content == nil:
		// It is not known yet, or could not be installed.
	case r.Content.Digest == "":
		o.Content = nil
	default:
		o.Content = r.Content.DeepCopy()
	}

	// A run that has not begun, and may never, is neither an answer nor an
	// attempt.
	if run.StartTime == nil {
		return
	}

	// Nor is one that was noted, but did not begin after all.
	begun := run.Reason != job.ReasonNotStarted
	if !begun {
		// It has taken no place of the last apply, where nobody noted it.
		if o.LastApply == nil || o.LastApply.ID != run.ID {
			return
		}

		r.Attempt--
	}

	if begun && run.Phase.Finished() && r.Request != "" {
		o.HandledRequest = r.Request
	}

	if run.Mode == common.ModeCheck {
		recordCheck(o, r)
		return
	}

	o.Executed = o.Executed || executed(r)
	o.LastApply = &common.Apply{
		ID:           run.ID,
		State:        run.State,
		InputsDigest: run.InputsDigest,
		Attempts:     r.Attempt,
	}

	if run.Phase.Finished() {
		finish(o, run.Phase, run.CompletionTime)
	}

	if run.Phase == common.PhaseSucceeded && run.State == common.StatePresent {
		o.AppliedDigest = run.InputsDigest
		o.Drift = nil
	}

	recordOutputs(o, r)
}

// executed is true for a run that may have changed something. Of a run in
// progress that is known when it has told something; if nobody hears of its end,
// see interrupt.
func executed(r job.Report) bool {
	begun := r.Run.Phase.Finished() || r.Run.Hosts != nil

	return begun && !r.Untouched
}

// recordCheck what a check run found out. Inputs for which there is nothing to
// change count as applied.
func recordCheck(o *common.AnsibleRunObservation, r job.Report) {
	run := r.Run
	if run.Phase != common.PhaseSucceeded || run.Hosts == nil {
		return
	}

	o.Drift = nil

	switch {
	case run.Hosts.Changed > 0:
		d := common.Drift{Time: run.CompletionTime, Changed: run.Hosts.Changed, Tasks: r.Changed}
		o.Drift = d.DeepCopy()
	case run.Reason != job.ReasonNotCheckable:
		o.AppliedDigest = run.InputsDigest
	}
}

// finish the last apply.
func finish(o *common.AnsibleRunObservation, result common.RunPhase, at *metav1.Time) {
	a := o.LastApply
	a.Result = result
	a.CompletionTime = at.DeepCopy()

	if result == common.PhaseSucceeded || at == nil {
		return
	}

	next := metav1.NewTime(at.Add(backoff(a.Attempts)))
	a.NextRetryTime = &next
}

// interrupt a run that the object says is in progress, of which nobody knows
// any more. It returns false when there is none.
func interrupt(o *common.AnsibleRunObservation, now time.Time) bool {
	r := o.LastRun
	if r == nil || r.Phase.Finished() {
		return false
	}

	at := metav1.NewTime(now.Truncate(time.Second))
	r.Phase = common.PhaseInterrupted
	r.Reason = job.ReasonProviderEnded
	r.Message = "the provider ended while the run was in progress"
	if r.StartTime == nil {
		r.Message = "the provider ended before the run began"
	}

	r.CurrentTask = ""
	r.CompletionTime = &at

	if a := o.LastApply; a != nil && a.ID == r.ID && a.Result == "" {
		o.Executed = true // For all that is known.

		finish(o, common.PhaseInterrupted, &at)
	}

	return true
}
