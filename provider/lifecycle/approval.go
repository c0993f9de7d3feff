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

// digestLength of an approval, in hexadecimal digits.
const digestLength = 32

// follows is true for an Approval that was made after another one. If it is unknown which was first, a rejection
// follows an approval.
func follows(a, other common.Approval) bool {
	at, before := a.GetCreationTimestamp(), other.GetCreationTimestamp()
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), other.GetResourceVersion())

	switch {
	case !at.Equal(&before): // In whole seconds.
		return at.After(before.Time)
	case err == nil && order != 0:
		return order > 0
	}

	return a.Decided().Decision != common.DecisionApprove
}

// Approvals are what the decision about an object that requires approvals depends on. The zero
// value is that of an object that requires none.
type Approvals struct {
	// Required is true if nothing is applied that was not approved.
	Required bool
	// Metadata is the digest of the labels and annotations that a run would see now.
	Metadata string
	// Decided are the Approvals that are about the object, and count.
	Decided []common.Approval
	// Key of digests, which only the provider can make.
	Key []byte
	// Command that approves what awaits it.
	Command string
}

// Judge returns what the status shows of the approval: the last check that has predicted
// something, and what was decided about it. It is nil if nothing has to be approved.
//
// The digest stands for the state, the inputs, the content, the check and its prediction. It is
// made anew each time, so that an edit of the status approves nothing. A later check
// that predicts the same keeps the digest as long as it is not used up.
func Judge(s Situation) *common.ApprovalObservation {
	was := s.Recorded.Approval

	switch {
	case s.InProgress():
		return was // The run is the one that was approved, or a check that will tell more.
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

// awaited is what awaits a decision; nil if nothing does.
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

// unused is what has awaited a decision and was not applied yet, if it is still about what is to be applied.
func unused(s Situation) *common.ApprovalObservation {
	was := s.Recorded.Approval
	if was == nil || was.State == common.ApprovalApplied || was.Digest != digest(s, was.CheckID, was.Unchecked) {
		return nil
	}

	return was.DeepCopy()
}

// predicts is true when the last run was a check of what is to be applied, and an apply would
// follow from it.
func predicts(s Situation) bool {
	return s.Approvals.Required && checkedNow(s) && (s.Deleted || allowed(s) && differs(s))
}

// checkedNow is true when the last run was a check of what is to be applied now, and has ended.
func checkedNow(s Situation) bool {
	r := s.Recorded.LastRun

	return checked(s) && r.Phase.Finished() && !r.CutOff()
}

// current is true for a check of the inputs as they are now, and with what its content may have read of the object
// besides, where that is approved with them.
func current(s Situation, r *common.Run) bool {
	return r.InputsDigest == s.Digest && (!s.Approvals.Required || r.MetadataDigest == s.Approvals.Metadata)
}

// outdated is true when labels or annotations have changed since a check of the inputs as they are now.
func outdated(s Situation) bool {
	r := s.Recorded.LastRun

	return r != nil && r.Mode == common.ModeCheck && r.InputsDigest == s.Digest && !current(s, r)
}

// settled is false, until the time that it returns, when labels or annotations have changed since a check that has just
// ended: they may change all the time.
func settled(s Situation) (time.Time, bool) {
	until := completion(s.Recorded.LastRun).Add(s.Least)

	return until, !outdated(s) || !ahead(until, s.Now, s.Least)
}

// unchecked is why a check could not tell what would change; empty if it could.
func unchecked(r *common.Run) string {
	if r.Phase == common.PhaseSucceeded && r.Reason != runs.ReasonNotCheckable {
		return ""
	}

	if r.Reason == "" {
		return string(r.Phase)
	}

	return r.Reason
}

// answered says what the latest Approval of the digest has decided.
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

// digest of what a check has predicted.
func digest(s Situation, check, unchecked string) string {
	var drift *common.Drift
	if unchecked == "" {
		drift = s.Recorded.Drift
	}

	text, _ := json.Marshal([]any{"approval", wanted(s), s.Digest, s.Approvals.Metadata, check, unchecked, drift}) //nolint:errchkjson // It has plain values only.

	return seal(s.Approvals.Key, text)
}

// seal a text with the key of an object.
func seal(key, text []byte) string {
	return hex.EncodeToString(mac.Sum(key, "approval", text))[:digestLength]
}

// approved is true when what an apply would change now is approved.
func approved(s Situation) bool {
	a := s.Recorded.Approval

	return a != nil && a.State == common.ApprovalApproved
}

// Unapproved is why nothing is applied, if that is for want of an approval.
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

// prediction of the check, in words.
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

// ShowApproved returns the condition Approved of a situation, given the one that the object has; false
// if the object has none, and needs none.
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

// decideAbsentApproved starts a deletion run only when it was approved, and otherwise a check of it,
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
