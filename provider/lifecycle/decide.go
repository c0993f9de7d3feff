// Package lifecycle decides what happens to an AnsibleRun. Its functions have no
// effects. Decide says from a Situation whether a run is due, and which; Record takes what is
// known of a run into the status, and Ready computes the Ready condition. Package controller
// calls them in each reconcile.
package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/calendar"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// A Situation is everything that a decision depends on.
type Situation struct {
	// Policy of the object.
	Policy common.RunPolicy
	// Create and Update say whether the management policies allow to apply for
	// the first time, and again.
	Create, Update bool
	// Deleted is true for an object with a deletion timestamp, and Keeps if its deletion runs nothing.
	Deleted, Keeps bool
	// Unaware is true when the content that was applied does not look at the state, so that the deletion runs nothing.
	Unaware bool
	// Held is true when the object has finalizers of others. If it is deleted, nothing is
	// written to it until these are gone.
	Held bool
	// Generation of the object.
	Generation int64
	// Adopt is true when an annotation says that the target is as the inputs say.
	Adopt bool
	// Digest of the inputs; empty when the object is deleted, unless it requires approvals.
	Digest string
	// RetryLimit is the number of attempts for the same inputs; 0 means no limit.
	RetryLimit int64
	// Request is the token of crossplane.io/reconcile-requested-at.
	Request string
	// Canceled is the id of a run that a user has canceled; empty for none.
	Canceled string
	// Unpublished is true when the Secret lacks connection details that only another run
	// can bring.
	Unpublished bool
	// Drifted is true when what the content has made in the cluster was changed or deleted. A
	// run for that reason is no poll.
	Drifted bool
	// Approvals of the object.
	Approvals Approvals
	// Calendar of the object.
	Calendar calendar.Calendar
	// Recorded is the observation, what the pool knows included.
	Recorded common.AnsibleRunObservation
	// Active is the run that the pool knows, nil if it knows none.
	Active *Active
	// Poll is the time between the end of a run and the next periodic one, and Least the shortest
	// that content may ask for.
	Poll, Least time.Duration
	// Now is the time.
	Now time.Time
}

// Active is a run that the pool knows. If it has ended, its result is not recorded yet.
type Active struct {
	common.Run

	// Queued is true for a run that waits for its turn, or for its Pod. Decide then decides anew, as if
	// there were no run.
	Queued bool
}

// Waits is true when the object waits for its turn, or for its Pod.
func (s Situation) Waits() bool { return s.Active != nil && s.Active.Queued }

// Runs is true when a run has begun and its result is not recorded yet.
func (s Situation) Runs() bool { return s.Active != nil && !s.Active.Queued }

// InProgress is true when a run has begun and has not ended.
func (s Situation) InProgress() bool { return s.Runs() && !s.Active.Phase.Finished() }

// A Decision says what is to be done about an object.
type Decision struct {
	// Start a run; nil when none is to be started.
	Start *Start
	// Cancel the run in progress.
	Cancel bool
	// Exists is what the runtime is told of the external resource: false when there is
	// nothing left to delete.
	Exists bool
	// Failure to report; nil when there is none.
	Failure error
	// Exhausted is true when a failed apply is not tried again without a change or a
	// request.
	Exhausted bool
	// Held is true when a run waits until its window opens, at Until.
	Held bool
	// Until is when to look again if nothing happens before; zero means at the
	// next poll.
	Until time.Time
}

// A Start is a run to be started.
type Start struct {
	Mode    common.RunMode
	State   common.RunState
	Trigger common.RunTrigger
	Attempt int64
	// Approved is true for an apply that had to be approved, and is.
	Approved bool
}

// skew is by how much clocks of two nodes may differ, or one clock may be set back.
const skew = time.Minute

// ahead is true for a time that is still to come, but not further away than most. A
// later time was written by a clock that was wrong, and counts as past.
func ahead(t, now time.Time, most time.Duration) bool {
	return now.Before(t) && t.Sub(now) <= most+skew
}

// soon is when to look again at a result that is about to be written.
const soon = time.Second

// Decide what to do about an object. It has no effects.
func Decide(s Situation) Decision {
	switch {
	case s.Waits() && s.Canceled != "" && s.Active.ID == s.Canceled:
		return Decision{Exists: true, Cancel: true}
	case Adopts(s): // It waits for its content.
		return Decision{Exists: true, Until: s.Now.Add(runs.AccessAgain)}
	case s.Deleted:
		return decideDeleted(s)
	}

	d := inWindow(s, decidePresent(s))
	d.Exists = true

	return d
}

// Restore the run that the status showed before one that waits.
func Restore(o *common.AnsibleRunObservation, before *common.Run) {
	if p := o.Preview; p != nil && p.RunID == o.LastRun.ID {
		o.Preview = nil
	}

	o.LastRun = before.DeepCopy()
}

// decidePresent decides for an object that is not deleted.
func decidePresent(s Situation) Decision {
	switch {
	case s.Runs():
		return decideActive(s)
	case previews(s):
		return check(s, common.TriggerPreview)
	case s.Approvals.Required, s.Policy == common.CheckWhenObserve:
		return decideChecked(s)
	case !allowed(s):
		return Decision{}
	}

	last := s.Recorded.LastApply

	switch {
	case changed(s):
		return begin(s, trigger(s), 1)
	case requested(s):
		return begin(s, common.TriggerRequested, nextAttempt(last))
	case failed(last):
		return retry(s, common.TriggerRetry)
	case s.Unpublished:
		return begin(s, common.TriggerRetry, 1)
	case s.Drifted:
		return begin(s, common.TriggerDependents, 1)
	case onlyOnChange(s):
		return Decision{}
	}

	if due, wait := periodic(s, completed(last)); ahead(due, s.Now, wait) {
		return Decision{Until: due}
	}

	return begin(s, common.TriggerPoll, 1)
}

// periodic is when the next periodic run follows the end of the last one, and the time between the two: the poll
// interval, or what the content has asked for, or else what the schedule says.
func periodic(s Situation, last time.Time) (time.Time, time.Duration) {
	wait := s.Poll

	switch asked := s.Recorded.NextRunTime; {
	case asked != nil:
		wait = max(asked.Sub(last), s.Least)
	case last.IsZero():
		return last, 0
	case s.Calendar.Scheduled():
		wait = s.Calendar.Due(last).Sub(last)
	}

	return last.Add(wait), wait
}

// onlyOnChange is true when nothing is due by itself.
func onlyOnChange(s Situation) bool {
	return s.Policy == common.RunOnChange && s.Recorded.NextRunTime == nil && !s.Calendar.Scheduled()
}

// decideActive decides while the pool knows a run. A run in progress wakes the object at its
// end. The result of a run that has ended is about to be written.
func decideActive(s Situation) Decision {
	if s.InProgress() {
		return Decision{Cancel: canceled(s, s.Recorded.LastRun)}
	}

	d := Decision{Until: s.Now.Add(soon)}
	if failed(s.Recorded.LastApply) {
		d.Failure, d.Exhausted = failure(s), exhausted(s)
	}

	return d
}

// allowed is true when the management policies allow the next apply.
func allowed(s Situation) bool {
	if s.Recorded.AppliedDigest == "" {
		return s.Create || s.Update
	}

	return s.Update
}

// changed is true when the inputs are neither those applied last, nor those
// that the last apply failed with.
func changed(s Situation) bool {
	if last := s.Recorded.LastApply; failed(last) {
		return last.InputsDigest != s.Digest
	}

	return s.Recorded.AppliedDigest != s.Digest
}

// failedHere is true when the last apply failed, with the inputs as they are now.
func failedHere(s Situation) bool {
	return failed(s.Recorded.LastApply) && !changed(s)
}

func trigger(s Situation) common.RunTrigger {
	if s.Recorded.AppliedDigest != "" || s.Recorded.LastApply != nil {
		return common.TriggerChanged
	}

	return common.TriggerCreated
}

func requested(s Situation) bool {
	return s.Request != s.Recorded.HandledRequest && Request(s.Request, common.TriggerRequested) != ""
}

// failed is true for an apply that ended without success.
func failed(a *common.Apply) bool {
	return a != nil && a.Result.Finished() && a.Result != common.PhaseSucceeded
}

// completed is when an apply ended; the zero time if that is not known.
func completed(a *common.Apply) time.Time {
	if a == nil || a.CompletionTime == nil {
		return time.Time{}
	}

	return a.CompletionTime.Time
}

// completion is when a run ended; the zero time if that is not known.
func completion(r *common.Run) time.Time {
	if r == nil || r.CompletionTime == nil {
		return time.Time{}
	}

	return r.CompletionTime.Time
}

func nextAttempt(last *common.Apply) int64 {
	if !failed(last) {
		return 1
	}

	return last.Attempts + 1
}

func begin(s Situation, t common.RunTrigger, attempt int64) Decision {
	return Decision{Start: &Start{
		Mode: common.ModeApply, State: wanted(s), Trigger: t, Attempt: attempt,
		Approved: s.Approvals.Required,
	}}
}

// wanted is the state that the object wants of its target.
func wanted(s Situation) common.RunState {
	if s.Deleted {
		return common.StateAbsent
	}

	return common.StatePresent
}

// retry a failed apply when its back-off is over, unless it was tried as often
// as it may be.
func retry(s Situation, t common.RunTrigger) Decision {
	last := s.Recorded.LastApply

	if exhausted(s) {
		return Decision{Failure: failure(s), Exhausted: true}
	}

	if next := last.NextRetryTime; next != nil && ahead(next.Time, s.Now, lastBackoff) {
		return Decision{Failure: failure(s), Until: next.Time}
	}

	return begin(s, t, nextAttempt(last))
}

// exhausted is true when the last apply failed, and was tried as often as it may
// be, or was canceled by a user.
func exhausted(s Situation) bool {
	last := s.Recorded.LastApply

	switch {
	case !failed(last):
		return false
	case last.ID == s.Canceled:
		return true
	}

	// A run that was cut off is no attempt: what it was started for is still to be done.
	r := s.Recorded.LastRun
	cut := last.Result == common.PhaseCanceled || last.Result == common.PhaseInterrupted ||
		r != nil && r.ID == last.ID && (s.Recorded.Interruptions > 0 || r.Reason == common.ReasonForbidden)

	return s.RetryLimit > 0 && last.Attempts >= s.RetryLimit && !cut
}

// canceled is true for a run that a user has canceled.
func canceled(s Situation, r *common.Run) bool {
	return r != nil && r.ID == s.Canceled
}

// decideDeleted runs the content with state absent until that succeeds.
func decideDeleted(s Situation) Decision {
	last := s.Recorded.LastApply

	// A run in progress goes on to its end, and keeps the object as its finalizer does.
	if s.Keeps {
		return Decision{}
	}

	if s.Runs() {
		d := Decision{Exists: true}
		d.Cancel = s.InProgress() && (s.Active.State == common.StatePresent || canceled(s, s.Recorded.LastRun))

		if !s.InProgress() && !s.Held {
			d.Until = s.Now.Add(soon)
		}

		return d
	}

	// The status shows a run before it begins, so that a run of which it knows nothing has not been.
	if s.Unaware || s.Recorded.AppliedDigest == "" && !s.Recorded.Executed && !removes(s) {
		return Decision{}
	}

	d := decideAbsent(s)
	if s.Approvals.Required {
		d = decideAbsentApproved(s, d)
	}

	d = inWindow(s, d)

	d.Exists = last == nil || last.State != common.StateAbsent || last.Result != common.PhaseSucceeded

	return d
}

// removes is true for an object that never applies and is there to remove what others have
// made: of the management policies, neither Create nor Update is allowed.
func removes(s Situation) bool {
	return !s.Create && !s.Update
}

func decideAbsent(s Situation) Decision {
	last := s.Recorded.LastApply

	switch {
	case last == nil || last.State != common.StateAbsent || last.InputsDigest != inputs.AbsentDigest(s.Generation):
		return begin(s, common.TriggerDeleted, 1)
	case last.Result == common.PhaseSucceeded:
		return Decision{}
	case requested(s):
		return begin(s, common.TriggerRequested, nextAttempt(last))
	}

	return retry(s, common.TriggerDeleted)
}

// failure says how the last apply failed and what happens next.
func failure(s Situation) error {
	last := s.Recorded.LastApply

	msg := &strings.Builder{}
	fmt.Fprintf(msg, "%s run %s", last.State, last.Result.Verb())

	if why := why(s.Recorded); why != "" {
		fmt.Fprintf(msg, ": %s", why)
	}

	switch {
	case exhausted(s):
		fmt.Fprintf(msg, "; %s", gaveUp(s))
	case last.NextRetryTime != nil:
		fmt.Fprintf(msg, "; attempt %d follows at %s", last.Attempts+1, last.NextRetryTime.UTC().Format(time.RFC3339))
	}

	return errors.New(msg.String())
}

// gaveUp says how often an apply was tried, and what to do now.
func gaveUp(s Situation) string {
	last := s.Recorded.LastApply
	way := "change the inputs"

	if last.State == common.StateAbsent {
		way = common.GiveUpDeletion
	}

	if last.ID == s.Canceled {
		return fmt.Sprintf("it was canceled by the annotation %s: request a run with a new value of the annotation %s, or %s",
			common.AnnotationCancel, meta.AnnotationKeyReconcileRequestedAt, way)
	}

	return fmt.Sprintf(
		"gave up after attempt %d of %d: raise spec.forProvider.retryLimit, request a run with a new value of the "+
			"annotation %s, or %s",
		last.Attempts, s.RetryLimit, meta.AnnotationKeyReconcileRequestedAt, way)
}
