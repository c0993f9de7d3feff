package lifecycle

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/mac"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// digestLength is the length of the digest of an approval, in hexadecimal digits.
const digestLength = 32

// follows is true for an Approval that was created after another one. If the order is not known, a rejection follows an
// approval.
func follows(a, other common.Approval) bool {
	at, before := a.GetCreationTimestamp(), other.GetCreationTimestamp()
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), other.GetResourceVersion())

	switch {
	case !at.Equal(&before): // Creation timestamps have whole seconds.
		return at.After(before.Time)
	case err == nil && order != 0:
		return order > 0
	}

	return a.Decided().Decision != common.DecisionApprove
}

// Approvals are the part of a Situation about approvals. The zero value is for an object that requires none.
type Approvals struct {
	// Required is true if every apply must be approved.
	Required bool
	// Metadata is the digest of the present labels and annotations that a run would receive.
	Metadata string
	// Decided are the valid Approvals for the object.
	Decided []common.Approval
	// Key of digests, which only the provider has.
	Key []byte
	// Command is the command that approves the awaited digest, for messages.
	Command string
}

// Judge returns the approval in the status: the last check that has predicted a change, and the decision about it. It
// is nil if no approval is needed.
//
// The digest covers the state, the inputs, the content, the check and its prediction. It is computed each time, so that
// an edit of the status cannot approve anything. A later check with the same prediction keeps the digest until the
// approval is used.
func Judge(s Situation) *common.ApprovalObservation {
	was := s.Recorded.Approval

	switch {
	case s.InProgress():
		return was // The approved run, or another check, is in progress.
	case was != nil && was.State == common.ApprovalApplied && !predicts(s):
		return was
	case !s.Approvals.Required:
		return nil
	}

	a := awaited(s)
	if a == nil {
		return nil
	}

	return answered(s, a)
}

// awaited returns the approval that awaits a decision; nil for none.
func awaited(s Situation) *common.ApprovalObservation {
	was, r := unused(s), s.Recorded.LastRun

	switch {
	case predicts(s) && (was == nil || was.Unchecked != unchecked(r)):
		return &common.ApprovalObservation{
			Digest: digest(s, r.ID, unchecked(r)), State: common.ApprovalAwaiting, CheckID: r.ID, Unchecked: unchecked(r),
			Time: r.CompletionTime.DeepCopy(),
		}
	case predicts(s), !checkedNow(s), unchecked(r) != "":
		return was
	}

	return nil
}

// unused returns a copy of the recorded approval if it was not applied yet and its digest is still valid; nil
// otherwise.
func unused(s Situation) *common.ApprovalObservation {
	was := s.Recorded.Approval
	if was == nil || was.State == common.ApprovalApplied || was.Digest != digest(s, was.CheckID, was.Unchecked) {
		return nil
	}

	return was.DeepCopy()
}

// predicts is true when the last run was a current check, and an apply would follow from it.
func predicts(s Situation) bool {
	return s.Approvals.Required && checkedNow(s) && (s.Deleted || allowed(s) && differs(s))
}

// checkedNow is true when the last run was a current check that has ended by itself.
func checkedNow(s Situation) bool {
	r := s.Recorded.LastRun

	return checked(s) && r.Phase.Finished() && !r.CutOff()
}

// current is true for a check with the present inputs and, if approvals are required, with the present metadata of the
// object.
func current(s Situation, r *common.Run) bool {
	return r.InputsDigest == s.Digest && (!s.Approvals.Required || r.MetadataDigest == s.Approvals.Metadata)
}

// outdated is true when labels or annotations have changed since a check with the present inputs.
func outdated(s Situation) bool {
	r := s.Recorded.LastRun

	return r != nil && r.Mode == common.ModeCheck && r.InputsDigest == s.Digest && !current(s, r)
}

// settled is false when labels or annotations have changed since a check that ended a short time ago, until the
// returned time: they may change continuously.
func settled(s Situation) (time.Time, bool) {
	until := completion(s.Recorded.LastRun).Add(s.Least)

	return until, !outdated(s) || !ahead(until, s.Now, s.Least)
}

// unchecked returns the reason why a check could not predict changes; empty if it could.
func unchecked(r *common.Run) string {
	if r.Phase == common.PhaseSucceeded && r.Reason != runs.ReasonNotCheckable {
		return ""
	}

	if r.Reason == "" {
		return string(r.Phase)
	}

	return r.Reason
}

// answered sets the decision of the latest Approval with the digest of a.
func answered(s Situation, a *common.ApprovalObservation) *common.ApprovalObservation {
	a.State, a.Approval, a.By, a.Reason = common.ApprovalAwaiting, "", "", ""

	var last common.Approval

	for _, made := range s.Approvals.Decided {
		if made.Decided().Digest == a.Digest && (last == nil || follows(made, last)) {
			last = made
		}
	}

	if last == nil {
		return a
	}

	a.State = common.ApprovalRejected
	if last.Decided().Decision == common.DecisionApprove {
		a.State = common.ApprovalApproved
	}

	a.Approval, a.By, a.Reason = last.GetName(), last.Decided().By, last.Decided().Reason

	return a
}

// digest returns the digest of the prediction of a check.
func digest(s Situation, check, unchecked string) string {
	var drift *common.Drift
	if unchecked == "" {
		drift = s.Recorded.Drift
	}

	text, _ := json.Marshal([]any{"approval", wanted(s), s.Digest, s.Approvals.Metadata, check, unchecked, drift}) //nolint:errchkjson // JSON can represent the values.

	return seal(s.Approvals.Key, text)
}

// seal returns the digest of a text with the key of an object.
func seal(key, text []byte) string {
	return hex.EncodeToString(mac.Sum(key, "approval", text))[:digestLength]
}

// approved is true when the next apply is approved.
func approved(s Situation) bool {
	a := s.Recorded.Approval

	return a != nil && a.State == common.ApprovalApproved
}

// Unapproved returns the reason and the message of an object that waits for an approval, or was rejected; false for
// other objects.
func Unapproved(s Situation) (xpv2.ConditionReason, string, bool) {
	a := s.Recorded.Approval
	if a == nil || !s.Approvals.Required {
		return "", "", false
	}

	switch a.State {
	case common.ApprovalAwaiting:
		return common.ReasonAwaitingApproval, fmt.Sprintf("%s, and awaits approval of digest %s: %s", prediction(s), a.Digest,
			s.Approvals.Command), true
	case common.ApprovalRejected:
		msg := &strings.Builder{}
		fmt.Fprintf(msg, "digest %s was rejected by %s", a.Digest, a.By)

		if a.Reason != "" {
			fmt.Fprintf(msg, ": %s", a.Reason)
		}

		fmt.Fprintf(msg, "; %s; change the inputs, or approve it nevertheless: %s", prediction(s), s.Approvals.Command)

		return common.ReasonRejected, msg.String(), true
	case common.ApprovalApproved, common.ApprovalApplied:
	}

	return "", "", false
}

// prediction returns the prediction of the check for a message.
func prediction(s Situation) string {
	a, d := s.Recorded.Approval, s.Recorded.Drift
	what := "the run"

	if s.Deleted {
		what = "the run of the deletion"
	}

	switch {
	case a.Unchecked == runs.ReasonNotCheckable:
		return what + " cannot be checked, since no task supports check mode"
	case a.Unchecked != "":
		return fmt.Sprintf("%s cannot be checked (%s)", what, a.Unchecked)
	case d == nil:
		return "a check predicts no change by " + what
	case d.Changed == 1:
		return fmt.Sprintf("a check predicts 1 change by %s, see status.atProvider.drift", what)
	}

	return fmt.Sprintf("a check predicts %d changes by %s, see status.atProvider.drift", d.Changed, what)
}

// ShowApproved returns the condition Approved for a situation, given the present condition; false if the object needs
// no such condition.
func ShowApproved(s Situation, now xpv2.Condition) (xpv2.Condition, bool) {
	reason, message, waits := Unapproved(s)

	switch {
	case waits:
		return common.Unapproved(common.TypeApproved, reason, message), true
	case now.Status == corev1.ConditionUnknown:
		return now, false
	case s.Approvals.Required && approved(s):
		a := s.Recorded.Approval
		return common.Approved(common.ReasonApproved, fmt.Sprintf("digest %s was approved by %s", a.Digest, a.By)), true
	case now.Status == corev1.ConditionFalse && s.InProgress():
		return now, true
	case now.Status == corev1.ConditionFalse:
		return common.Approved(common.ReasonNothingToApprove, ""), true
	}

	return now, true
}

// decideAbsentApproved starts an approved deletion run. Without an approval, it starts a check of the deletion instead,
// unless there was one.
func decideAbsentApproved(s Situation, d Decision) Decision {
	r := s.Recorded.LastRun
	until, settled := settled(s)

	switch {
	case d.Start == nil, approved(s):
		return d
	case requested(s):
		return check(s, common.TriggerRequested)
	case checkedNow(s):
		return Decision{}
	case !settled:
		return Decision{Until: until}
	case !checked(s), !r.CutOff():
		return check(s, common.TriggerDeleted)
	}

	again := checkAgain(s)
	if canceled(s, r) && r.Phase == common.PhaseCanceled {
		again = checkWhenDue(s, checkFailure(r))
	}

	if again.Start != nil {
		again.Start.Trigger = common.TriggerDeleted
	}

	return again
}
