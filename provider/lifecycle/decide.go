// Package lifecycle decides about the runs of an AnsibleRun. Its functions have no side effects. Decide returns whether
// a run is due in a Situation, and which one. Record takes the report of a run into the status. Ready returns the
// condition Ready. Package controller calls them in each reconcile.
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
	// Create and Update are true if the management policies have these actions. A first apply needs one of them, a later
	// one needs Update.
	Create, Update bool
	// Deleted is true for an object with a deletion timestamp. Keeps is true if its deletion starts no run.
	Deleted, Keeps bool
	// Unaware is true if the applied content does not use the state, so that its deletion starts no run.
	Unaware bool
	// Held is true if the object has finalizers of other controllers. While it is deleted, its status is not written until
	// these are gone.
	Held bool
	// Generation of the object.
	Generation int64
	// Adopt is true if an annotation says that the target is in the state of the inputs.
	Adopt bool
	// Digest of the inputs; empty when the object is deleted, unless it requires approvals.
	Digest string
	// RetryLimit is the number of attempts for the same inputs; 0 means no limit.
	RetryLimit int64
	// Request is the token of crossplane.io/reconcile-requested-at.
	Request string
	// Canceled is the id of a run that a user has canceled; empty for none.
	Canceled string
	// Unpublished is true if the connection Secret lacks details that only another run can publish.
	Unpublished bool
	// Drifted is true if dependents of the object were changed or deleted. This starts a run with the trigger Dependents.
	Drifted bool
	// Approvals of the object.
	Approvals Approvals
	// Calendar of the object.
	Calendar calendar.Calendar
	// Recorded is the observation, including the reports of the pool.
	Recorded common.AnsibleRunObservation
	// Active is the run in the pool; nil for none.
	Active *Active
	// Poll is the time between the end of a run and the next periodic run. Least is the shortest time that content may
	// request.
	Poll, Least time.Duration
	// Now is the time.
	Now time.Time
}

// Active is a run in the pool. If it has ended, its result is not recorded yet.
type Active struct {
	common.Run

	// Queued is true for a run that waits for its turn, or for its Pod. Decide then decides as if there was no run.
	Queued bool
}

// Waits is true when a run waits for its turn, or for its Pod.
func (s Situation) Waits() bool { return s.Active != nil && s.Active.Queued }

// Runs is true when a run has begun and its result is not recorded yet.
func (s Situation) Runs() bool { return s.Active != nil && !s.Active.Queued }

// InProgress is true when a run has begun and has not ended.
func (s Situation) InProgress() bool { return s.Runs() && !s.Active.Phase.Finished() }

// A Decision is the next action for an object.
type Decision struct {
	// Start is the run to start; nil for none.
	Start *Start
	// Cancel is true to cancel the run in progress.
	Cancel bool
	// Exists is ExternalObservation.ResourceExists: false when nothing is left to delete.
	Exists bool
	// Failure to report; nil for none.
	Failure error
	// Exhausted is true when a failed apply is not retried without a change or a request.
	Exhausted bool
	// Held is true when a run waits until its window opens, at Until.
	Held bool
	// Until is the time of the next decision if no event occurs before; the zero time means at the next poll.
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

// skew is the largest difference between the clocks of two nodes, or adjustment of one clock.
const skew = time.Minute

// ahead is true for a future time that is not further away than most. A later time was written with a wrong clock, and
// counts as past.
func ahead(t, now time.Time, most time.Duration) bool {
	return now.Before(t) && t.Sub(now) <= most+skew
}

// soon is the time until the next decision while a result is about to be written.
const soon = time.Second

// Decide returns the next action for an object.
func Decide(s Situation) Decision {
	switch {
	case s.Waits() && s.Canceled != "" && s.Active.ID == s.Canceled:
		return Decision{Exists: true, Cancel: true}
	case Adopts(s): // The object waits for its content.
		return Decision{Exists: true, Until: s.Now.Add(runs.AccessAgain)}
	case s.Deleted:
		return decideDeleted(s)
	}

	d := inWindow(s, decidePresent(s))
	d.Exists = true

	return d
}

// Restore sets the last run to the one before a run that waits, and removes a preview of the latter.
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

// periodic returns the time of the next periodic run after the end of the last run, and the time between both: that
// which the content has requested, or that of the schedule, or else the poll interval.
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

// onlyOnChange is true when the object has no periodic runs.
func onlyOnChange(s Situation) bool {
	return s.Policy == common.RunOnChange && s.Recorded.NextRunTime == nil && !s.Calendar.Scheduled()
}

// decideActive decides while the pool has a run that has begun. The end of the run triggers a reconcile. The result of
// an ended run is about to be written.
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

// changed is true when the inputs differ from those of the last apply that has failed, or else from the applied inputs.
func changed(s Situation) bool {
	if last := s.Recorded.LastApply; failed(last) {
		return last.InputsDigest != s.Digest
	}

	return s.Recorded.AppliedDigest != s.Digest
}

// failedHere is true when the last apply failed with the present inputs.
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

// failed is true for an apply that has ended without success.
func failed(a *common.Apply) bool {
	return a != nil && a.Result.Finished() && a.Result != common.PhaseSucceeded
}

// completed returns the end of an apply; the zero time if it is not known.
func completed(a *common.Apply) time.Time {
	if a == nil || a.CompletionTime == nil {
		return time.Time{}
	}

	return a.CompletionTime.Time
}

// completion returns the end of a run; the zero time if it is not known.
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

// wanted returns the wanted state of the target.
func wanted(s Situation) common.RunState {
	if s.Deleted {
		return common.StateAbsent
	}

	return common.StatePresent
}

// retry starts the next attempt of a failed apply after its back-off, unless its attempts are exhausted.
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

// exhausted is true when the last apply failed with the last allowed attempt, or was canceled by a user.
func exhausted(s Situation) bool {
	last := s.Recorded.LastApply

	switch {
	case !failed(last):
		return false
	case last.ID == s.Canceled:
		return true
	}

	// A run that was cut off does not count as an attempt.
	r := s.Recorded.LastRun
	cut := last.Result == common.PhaseCanceled || last.Result == common.PhaseInterrupted ||
		r != nil && r.ID == last.ID && (s.Recorded.Interruptions > 0 || r.Reason == common.ReasonForbidden)

	return s.RetryLimit > 0 && last.Attempts >= s.RetryLimit && !cut
}

// canceled is true for a run that a user has canceled.
func canceled(s Situation, r *common.Run) bool {
	return r != nil && r.ID == s.Canceled
}

// decideDeleted runs the content with state absent until a run succeeds.
func decideDeleted(s Situation) Decision {
	last := s.Recorded.LastApply

	// A finalizer keeps the object until the end of a run in progress.
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

	// The status shows every run before it begins: without such a run, nothing was applied.
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

// removes is true for an object that only removes things that it has not made: its management policies allow neither
// Create nor Update.
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

// failure returns an error with the result of the last apply, and the next step.
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

// gaveUp returns a message with the number of attempts, and what the user can do.
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
