package lifecycle

import (
	"strings"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// Ready returns the condition Ready for a situation, given the present condition. It is True if the inputs are applied,
// and the last apply has not failed, or has failed without a change.
func Ready(s Situation, now xpv2.Condition) xpv2.Condition {
	o, last := s.Recorded, s.Recorded.LastApply

	if reason, message, waits := Unapproved(s); waits && (o.AppliedDigest != s.Digest || failedHere(s)) {
		return common.Unapproved(xpv2.TypeReady, reason, message)
	}

	switch {
	case failedHere(s) && !unaffected(s):
		return unready(s, now)
	case retried(s) && common.Failed(now):
		return now
	case o.AppliedDigest != "" && o.AppliedDigest == s.Digest && (!failed(last) || unaffected(s)):
		if last != nil && last.Result == "" && now.Type == xpv2.TypeReady {
			return now
		}

		return xpv2.Available()
	case o.AppliedDigest != "" && !s.Update && now.Type == xpv2.TypeReady:
		return now
	case !allowed(s):
		return common.NotApplied(forbidden(s))
	case s.Active != nil && !s.Active.Phase.Finished():
		return common.NotReady(common.ReasonRunning)
	case !opens(s, next(s)).IsZero():
		return common.WaitingForWindow(xpv2.TypeReady, opens(s, next(s)))
	case o.AppliedDigest == "" && last == nil && s.Policy == common.CheckWhenObserve && NotCheckable(s):
		return common.NotApplied(
			"a check run cannot tell what there is to do, see the condition " + string(common.TypeCheckable))
	case o.AppliedDigest == "" && last == nil:
		return xpv2.Creating()
	}

	return common.NotReady(common.ReasonInputsChanged)
}

// next returns the next run of an object with inputs that are not applied.
func next(s Situation) Start {
	if s.Approvals.Required && !approved(s) {
		return Start{Mode: common.ModeCheck}
	}

	return Start{Mode: common.ModeApply, Approved: s.Approvals.Required}
}

// unaffected is true when the inputs are applied, and the last apply, which failed, has changed nothing.
func unaffected(s Situation) bool {
	last := s.Recorded.LastApply

	return last != nil && last.Untouched && s.Recorded.AppliedDigest != "" && s.Recorded.AppliedDigest == s.Digest
}

// forbidden returns a message why the object is not applied.
func forbidden(s Situation) string {
	const why = "spec.managementPolicies allow neither Create nor Update"

	if s.Policy == common.CheckWhenObserve {
		return why + "; status.atProvider.drift shows what would change"
	}

	return why
}

// unready returns the condition for a failed apply, with its message. If the message is not known any more, the present
// condition stays.
func unready(s Situation, now xpv2.Condition) xpv2.Condition {
	why := why(s.Recorded)

	switch {
	case why == "" && common.Failed(now):
		return now
	case !exhausted(s):
		return common.NotReady(common.ReasonRunFailed).WithMessage(why)
	}

	return common.NotReady(common.ReasonRetriesExhausted).WithMessage(strings.TrimPrefix(why+"; "+gaveUp(s), "; "))
}

// retried is true while an apply that failed, or was cut off, is repeated.
func retried(s Situation) bool {
	last, run := s.Recorded.LastApply, s.Recorded.LastRun
	if last == nil || last.Result != "" || last.InputsDigest != s.Digest {
		return false
	}

	return last.Attempts > 1 || run != nil && run.ID == last.ID && run.Trigger == common.TriggerRetry
}

// why returns the message of the last apply; empty if a later run has replaced it in the status.
func why(o common.AnsibleRunObservation) string {
	if o.LastRun == nil || o.LastRun.ID != o.LastApply.ID {
		return ""
	}

	return o.LastRun.Message
}
