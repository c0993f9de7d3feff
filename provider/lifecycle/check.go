package lifecycle

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// decideChecked decides for objects with CheckWhenObserve, or with approvals: an apply begins only when a check
// predicts changes, and when the changes are approved if that is required. No run is in progress.
func decideChecked(s Situation) Decision {
	guarded := s.Approvals.Required
	until, settled := settled(s)
	applies := allowed(s) && (!guarded || approved(s))

	switch {
	// A failed apply is retried without a check: it has left the target in a state that was not checked.
	case applies && failedHere(s) && requested(s):
		return begin(s, common.TriggerRequested, nextAttempt(s.Recorded.LastApply))
	case applies && failedHere(s):
		return retry(s, common.TriggerRetry)
	case applies && guarded:
		return begin(s, triggerOfApply(s), 1)
	case applies && s.Unpublished && !changed(s) && requested(s):
		return begin(s, common.TriggerRequested, 1)
	case applies && s.Unpublished && !changed(s):
		return begin(s, common.TriggerRetry, 1)
	case requested(s):
		return check(s, common.TriggerRequested)
	case checked(s):
		return afterCheck(s)
	case !settled:
		return Decision{Until: until}
	case guarded && (failedHere(s) || s.Unpublished):
		return check(s, common.TriggerRetry)
	case changed(s):
		return check(s, trigger(s))
	case s.Recorded.LastRun.CutOff():
		return checkAgain(s)
	case outdated(s) && (s.Recorded.Drift != nil || unchecked(s.Recorded.LastRun) != ""):
		return check(s, s.Recorded.LastRun.Trigger)
	}

	return checkWhenDue(s, nil)
}

// checked is true when the last run was a check of the wanted state with the present inputs.
func checked(s Situation) bool {
	r := s.Recorded.LastRun

	return r != nil && r.Mode == common.ModeCheck && r.State == wanted(s) && current(s, r)
}

// afterCheck decides after a current check: it applies the predicted changes if that is allowed.
func afterCheck(s Situation) Decision {
	r := s.Recorded.LastRun

	switch {
	case canceled(s, r) && r.Phase == common.PhaseCanceled:
		return checkWhenDue(s, checkFailure(r))
	case r.CutOff():
		return checkAgain(s)
	case differs(s) && allowed(s) && s.Approvals.Required:
		return checkWhenDue(s, nil)
	case differs(s) && allowed(s):
		return begin(s, triggerOfApply(s), 1)
	case r.Phase != common.PhaseSucceeded:
		d := checkWhenDue(s, checkFailure(r))
		if d.Start != nil && d.Start.Trigger == common.TriggerPoll && changed(s) {
			d.Start.Trigger = common.TriggerRetry
		}

		return d
	}

	return checkWhenDue(s, nil)
}

// checkAgain repeats, as a check and after a pause, a run that was cut off.
func checkAgain(s Situation) Decision {
	r := s.Recorded.LastRun

	pause := backoff(s.Recorded.Interruptions)
	if r.Untried() {
		pause = max(pause, runs.AccessAgain)
	}

	if next := completion(r).Add(pause); ahead(next, s.Now, lastBackoff) {
		d := Decision{Until: next}
		if r.Reason == common.ReasonInternal || r.Untried() {
			d.Failure = checkFailure(r)
		}

		return d
	}

	return check(s, r.Trigger)
}

func checkFailure(r *common.Run) error {
	return errors.Errorf("check run %s: %s", r.Phase.Verb(), r.Message)
}

// differs is true when the last check predicts a change, or when it failed and the object was never applied: later
// tasks often need the results of earlier ones. After a failed apply, an apply must succeed before a check counts.
func differs(s Situation) bool {
	switch {
	case failed(s.Recorded.LastApply), s.Approvals.Required && s.Unpublished:
		return true
	case s.Approvals.Required && unchecked(s.Recorded.LastRun) != "":
		// A person decides about changes that a check cannot predict. Such a check by a poll needs no new decision.
		was := unused(s)

		return changed(s) || s.Recorded.LastRun.Trigger == common.TriggerRequested || was != nil && was.Unchecked != ""
	case s.Recorded.LastRun.Phase == common.PhaseSucceeded:
		return s.Recorded.Drift != nil
	}

	return s.Recorded.AppliedDigest == ""
}

// triggerOfApply returns the trigger of the apply that follows from the last check.
func triggerOfApply(s Situation) common.RunTrigger {
	switch {
	case changed(s), s.Recorded.LastRun == nil:
		return trigger(s)
	case s.Recorded.LastRun.Trigger == common.TriggerRequested:
		return common.TriggerRequested
	case s.Recorded.LastRun.Trigger == common.TriggerDependents:
		return common.TriggerDependents
	}

	return common.TriggerPoll
}

// checkWhenDue starts a check at the poll interval after the end of the last run, or at once when dependents were
// changed. Until then it reports the failure, if any.
func checkWhenDue(s Situation, failure error) Decision {
	if s.Drifted {
		return check(s, common.TriggerDependents)
	}

	if onlyOnChange(s) {
		return Decision{Failure: failure}
	}

	last := completion(s.Recorded.LastRun)
	if s.Recorded.LastRun == nil {
		last = completed(s.Recorded.LastApply) // The object was adopted.
	}

	if due, wait := periodic(s, last); ahead(due, s.Now, wait) {
		return Decision{Until: due, Failure: failure}
	}

	return check(s, common.TriggerPoll)
}

func check(s Situation, t common.RunTrigger) Decision {
	return Decision{Start: &Start{Mode: common.ModeCheck, State: wanted(s), Trigger: t, Attempt: 1}}
}

// NotCheckable is true when no task of the last check supported check mode.
func NotCheckable(s Situation) bool {
	return checked(s) && s.Recorded.LastRun.Reason == runs.ReasonNotCheckable
}
