package ansiblerun

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// A Situation is everything that a decision depends on.
type Situation struct {
	// Policy of the object.
	Policy common.RunPolicy
	// Create and Update say whether the management policies allow to apply for
	// the first time, and again.
	Create, Update bool
	// Deleted is true for an object with a deletion timestamp.
	Deleted bool
	// Held is true when somebody else does not let an object go that is deleted: of
	// what happens nothing is written until then.
	Held bool
	// Generation of the object.
	Generation int64
	// Begun is true when an object was about to be created once.
	Begun bool
	// Digest of the inputs; empty when the object is deleted.
	Digest string
	// Former is the digest of the same inputs as the version before computed it.
	Former string
	// RetryLimit is the number of attempts for the same inputs; 0 means no limit.
	RetryLimit int64
	// Request is the token of crossplane.io/reconcile-requested-at.
	Request string
	// Unpublished is true when connection details are to be had by a run only.
	Unpublished bool
	// Recorded is the observation, what the pool knows included.
	Recorded common.AnsibleRunObservation
	// Active is the run that the pool knows, nil if it knows none.
	Active *Active
	// Poll is the time between the end of a run and the next periodic one.
	Poll time.Duration
	// Now is the time.
	Now time.Time
}

// Active is a run that the pool knows.
type Active struct {
	Mode  common.RunMode
	State common.RunState
	// Queued is true for one that waits for its turn: what is to be done is decided
	// as if there were none.
	Queued bool
	// Finished is true for a run that ended and is not on the object yet.
	Finished bool
}

// waits is true when the object waits for its turn.
func (s Situation) waits() bool { return s.Active != nil && s.Active.Queued }

// runs is true when a run has begun, or is about to, and its result is not on the
// object.
func (s Situation) runs() bool { return s.Active != nil && !s.Active.Queued }

// A Decision says what is to be done about an object.
type Decision struct {
	// Start a run; nil when none is to be started.
	Start *Start
	// Cancel the run in progress.
	Cancel bool
	// Exists is false when there is nothing to delete, or everything to create.
	Exists bool
	// Failure to report; nil when there is none.
	Failure error
	// Exhausted is true when what failed is not tried again by itself.
	Exhausted bool
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
}

// skew of clocks: what two of them may differ by, or one may be set back by,
// without anything being wrong.
const skew = time.Minute

// ahead is true for a time that is still to come. One that is further away than
// anybody can have meant was noted with a clock that was ahead, and counts as
// past: what waits for it would wait for as long as the clock was wrong.
func ahead(t, now time.Time, most time.Duration) bool {
	return now.Before(t) && t.Sub(now) <= most+skew
}

// soon is how long to wait for what is about to happen anyway.
const soon = time.Second

// Decide what to do about an object. It has no effects.
func Decide(s Situation) Decision {
	if s.Deleted {
		return decideDeleted(s)
	}

	d := decidePresent(s)
	d.Exists = !creates(s, d)

	return d
}

// creates is true when the decision is to apply for the first time, and creating
// is allowed.
func creates(s Situation, d Decision) bool {
	return d.Start != nil && d.Start.Mode == common.ModeApply && s.Recorded.AppliedDigest == "" && s.Create
}

func decidePresent(s Situation) Decision {
	switch {
	case s.runs():
		return report(s)
	case s.Policy == common.CheckWhenObserve:
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
	case s.Policy == common.RunOnChange:
		return Decision{}
	}

	if due := completed(last).Add(s.Poll); ahead(due, s.Now, s.Poll) {
		return Decision{Until: due}
	}

	return begin(s, common.TriggerDrift, 1)
}

// report on a run that the pool knows. It is either in progress, and wakes the
// object when it ends, or it has ended and its result is about to be written.
func report(s Situation) Decision {
	if !s.Active.Finished {
		return Decision{}
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
	switch {
	case s.Recorded.AppliedDigest != "" || s.Recorded.LastApply != nil:
		return common.TriggerChanged
	case lost(s):
		return common.TriggerRetry
	}

	return common.TriggerCreated
}

// lost is true when an apply may have begun of which nothing was recorded,
// because the provider ended at the same moment.
func lost(s Situation) bool {
	r := s.Recorded.LastRun

	switch {
	case s.Recorded.LastApply != nil:
		return false
	case r == nil, r.Mode == common.ModeCheck:
		return s.Begun
	case r.Phase == common.PhaseCanceled, r.StartTime == nil:
		// This one did not begin. It is a retry if one before was lost.
		return r.Trigger == common.TriggerRetry
	}

	return true
}

func requested(s Situation) bool {
	return s.Request != "" && s.Request != s.Recorded.HandledRequest
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

// Completion is when a run ended; the zero time if that is not known.
func Completion(r *common.Run) time.Time {
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
	state := common.StatePresent
	if s.Deleted {
		state = common.StateAbsent
	}

	return Decision{Start: &Start{Mode: common.ModeApply, State: state, Trigger: t, Attempt: attempt}}
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
// be.
func exhausted(s Situation) bool {
	last := s.Recorded.LastApply

	return s.RetryLimit > 0 && failed(last) && last.Attempts >= s.RetryLimit
}

// decideDeleted runs the content with state absent until that succeeds.
func decideDeleted(s Situation) Decision {
	last := s.Recorded.LastApply

	if a := s.Active; s.runs() {
		d := Decision{Exists: true}
		d.Cancel = a.State == common.StatePresent && !a.Finished

		if a.Finished && !s.Held {
			d.Until = s.Now.Add(soon)
		}

		return d
	}

	if s.Recorded.AppliedDigest == "" && !s.Recorded.Executed && !lost(s) && !removes(s) {
		return Decision{} // Nothing was ever done.
	}

	d := decideAbsent(s)
	d.Exists = last == nil || last.State != common.StateAbsent || last.Result != common.PhaseSucceeded

	return d
}

// removes is true when what others have made is to be removed: the management
// policies allow to delete, but never to apply.
func removes(s Situation) bool {
	return !s.Create && !s.Update
}

func decideAbsent(s Situation) Decision {
	last := s.Recorded.LastApply

	switch {
	case last == nil || last.State != common.StateAbsent || last.InputsDigest != AbsentDigest(s.Generation):
		return begin(s, common.TriggerDeleted, 1)
	case last.Result == common.PhaseSucceeded:
		return Decision{}
	case requested(s):
		return begin(s, common.TriggerRequested, nextAttempt(last))
	}

	return retry(s, common.TriggerDeleted)
}

// AbsentDigest stands for the inputs of a deletion. They are not resolved
// before it is known that a run is to be started, since what they refer to may
// be gone. What a user can still change is the object.
func AbsentDigest(generation int64) string {
	return fmt.Sprintf("absent.%d", generation)
}

// failure says how the last apply failed and what happens next.
func failure(s Situation) error {
	last := s.Recorded.LastApply

	msg := &strings.Builder{}
	fmt.Fprintf(msg, "%s run %s", last.State, verb(last.Result))

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
		way = "give the deletion run up with spec.managementPolicies: " + common.WithoutDelete
	}

	return fmt.Sprintf("gave up after attempt %d of %d: raise spec.forProvider.retryLimit, request a run with a new value of the annotation %s, or %s",
		last.Attempts, s.RetryLimit, meta.AnnotationKeyReconcileRequestedAt, way)
}

func verb(p common.RunPhase) string {
	switch p {
	case common.PhaseTimedOut:
		return "timed out"
	case common.PhaseCanceled:
		return "was canceled"
	case common.PhaseInterrupted:
		return "was interrupted"
	case common.PhaseFailed, common.PhaseQueued, common.PhaseInstalling, common.PhaseRunning, common.PhaseSucceeded:
	}

	return "failed"
}

// Ready is the Ready condition that the situation calls for, given the one on
// the object. It is True exactly when the inputs are those last applied and the
// last apply did not fail, or has changed nothing.
func Ready(s Situation, now xpv2.Condition) xpv2.Condition {
	o, last := s.Recorded, s.Recorded.LastApply

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
	case s.Active != nil && !s.Active.Finished:
		return common.Running()
	case o.AppliedDigest == "" && last == nil && s.Policy == common.CheckWhenObserve && NotCheckable(s):
		return common.NotApplied("a check run cannot tell what there is to do, see the condition " + string(common.TypeCheckable))
	case o.AppliedDigest == "" && last == nil:
		return xpv2.Creating()
	}

	return common.InputsChanged()
}

// unaffected is true when the inputs are those that were applied, and the last apply,
// which failed, has changed nothing.
func unaffected(s Situation) bool {
	last := s.Recorded.LastApply

	return last != nil && last.Untouched && s.Recorded.AppliedDigest != "" && s.Recorded.AppliedDigest == s.Digest
}

// forbidden says why nothing may be applied, and where a preview is.
func forbidden(s Situation) string {
	const why = "spec.managementPolicies allow neither Create nor Update"

	if s.Policy == common.CheckWhenObserve {
		return why + "; status.atProvider.drift shows what would change"
	}

	return why
}

// unready says that the last apply failed, and why. What is said already stays
// while the next attempt waits for its turn.
func unready(s Situation, now xpv2.Condition) xpv2.Condition {
	c, why := common.RunFailed(), why(s.Recorded)

	switch {
	case why == "" && common.Failed(now):
		return now
	case !exhausted(s):
		return c.WithMessage(why)
	}

	c = common.RetriesExhausted()

	if why == "" {
		return c.WithMessage(gaveUp(s))
	}

	return c.WithMessage(why + "; " + gaveUp(s))
}

// retried is true while an apply that failed, or was cut off, is tried again.
func retried(s Situation) bool {
	last, run := s.Recorded.LastApply, s.Recorded.LastRun
	if last == nil || last.Result != "" || last.InputsDigest != s.Digest {
		return false
	}

	return last.Attempts > 1 || run != nil && run.ID == last.ID && run.Trigger == common.TriggerRetry
}

// why the last apply failed, in Ansible's words where there are any; empty when
// a later run has taken its place.
func why(o common.AnsibleRunObservation) string {
	if o.LastRun == nil || o.LastRun.ID != o.LastApply.ID {
		return ""
	}

	return o.LastRun.Message
}

// Rebase is the observation for digests as they are computed now: those of the
// same inputs in the schema before are replaced. When their key was lost, or their
// schema is older, an object whose generation was applied keeps counting as applied,
// and one that failed keeps its attempts.
func Rebase(s Situation, ready xpv2.Condition) common.AnsibleRunObservation {
	o := reformed(s)
	if ready.ObservedGeneration != s.Generation {
		return o
	}

	applied := ready.Status == corev1.ConditionTrue
	if applied && o.AppliedDigest != "" && !known(s, o.AppliedDigest) {
		o.AppliedDigest = s.Digest
	}

	a := o.LastApply
	if a == nil || a.State != common.StatePresent || known(s, a.InputsDigest) {
		return o
	}

	if applied || common.Failed(ready) {
		a = a.DeepCopy()
		a.InputsDigest = s.Digest
		o.LastApply = a
	}

	return o
}

// reformed is the observation without digests of the inputs as they are now that the
// version before has computed.
func reformed(s Situation) common.AnsibleRunObservation {
	o := s.Recorded
	if s.Former == "" {
		return o
	}

	if o.AppliedDigest == s.Former {
		o.AppliedDigest = s.Digest
	}

	if a := o.LastApply; a != nil && a.InputsDigest == s.Former {
		o.LastApply = a.DeepCopy()
		o.LastApply.InputsDigest = s.Digest
	}

	if r := o.LastRun; r != nil && r.InputsDigest == s.Former {
		o.LastRun = r.DeepCopy()
		o.LastRun.InputsDigest = s.Digest
	}

	return o
}

// Predates is true for an observation with a digest of another schema or key.
func Predates(o common.AnsibleRunObservation, digest string) bool {
	recorded := []string{o.AppliedDigest}
	if o.LastApply != nil {
		recorded = append(recorded, o.LastApply.InputsDigest)
	}

	if o.LastRun != nil {
		recorded = append(recorded, o.LastRun.InputsDigest)
	}

	return slices.ContainsFunc(recorded, func(d string) bool { return d != "" && !inputs.Comparable(d, digest) })
}

// known is true for a digest that says whether the inputs have changed.
func known(s Situation, digest string) bool {
	return inputs.Comparable(digest, s.Digest) || inputs.Comparable(digest, s.Former)
}
