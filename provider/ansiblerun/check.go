package ansiblerun

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/job"
)

// decideChecked decides for objects whose content is applied only when a check
// run says that it would change something. No run is in progress.
func decideChecked(s situation) decision {
	switch {
	case failedHere(s) && allowed(s):
		return recheck(s)
	case requested(s):
		return check(common.TriggerRequested)
	case checked(s):
		return afterCheck(s)
	case changed(s):
		return check(trigger(s))
	}

	return checkWhenDue(s, nil)
}

// recheck does not: an apply that failed has left the target in a state that no
// check was made for, and is tried again until it succeeds.
func recheck(s situation) decision {
	if requested(s) {
		return begin(s, common.TriggerRequested, nextAttempt(s.Recorded.LastApply))
	}

	return retry(s, common.TriggerRetry)
}

// checked is true when the last run was a check of the inputs as they are now.
func checked(s situation) bool {
	r := s.Recorded.LastRun

	return r != nil && r.Mode == common.ModeCheck && r.State == common.StatePresent && r.InputsDigest == s.Digest
}

// afterCheck applies what the last check run would change, if it may.
func afterCheck(s situation) decision {
	r := s.Recorded.LastRun

	switch {
	case r.Phase == common.PhaseInterrupted, r.Phase == common.PhaseCanceled:
		if next := completion(r).Add(firstBackoff); ahead(next, s.Now, firstBackoff) {
			return decision{Until: next}
		}

		return check(r.Trigger)
	case differs(s) && allowed(s):
		return begin(s, triggerOfApply(s), 1)
	case r.Phase != common.PhaseSucceeded:
		return checkWhenDue(s, errors.Errorf("check run %s: %s", verb(r.Phase), r.Message))
	}

	return checkWhenDue(s, nil)
}

// differs is true when the last check run would change something, or when it
// failed and nothing was ever applied: later tasks often need what earlier ones
// would have made. After an apply that failed no check is trusted before one
// succeeded.
func differs(s situation) bool {
	switch {
	case failed(s.Recorded.LastApply):
		return true
	case s.Recorded.LastRun.Phase == common.PhaseSucceeded:
		return s.Recorded.Drift != nil
	}

	return s.Recorded.AppliedDigest == ""
}

func triggerOfApply(s situation) common.RunTrigger {
	if changed(s) {
		return trigger(s)
	}

	return common.TriggerDrift
}

// checkWhenDue checks a poll interval after the end of the last run. Until then
// the failure, if any, is reported.
func checkWhenDue(s situation, failure error) decision {
	r := s.Recorded.LastRun
	if due := completion(r).Add(s.Poll); ahead(due, s.Now, s.Poll) {
		return decision{Until: due, Failure: failure}
	}

	return check(common.TriggerDrift)
}

func check(t common.RunTrigger) decision {
	return decision{Start: &start{Mode: common.ModeCheck, State: common.StatePresent, Trigger: t, Attempt: 1}}
}

// notCheckable is true when the last check run could not tell anything.
func notCheckable(s situation) bool {
	return checked(s) && s.Recorded.LastRun.Reason == job.ReasonNotCheckable
}
