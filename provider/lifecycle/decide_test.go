package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/test"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// Digests of the tests. Those of the same key are comparable.
const (
	digestA    = "v1.key.aaaa"
	digestB    = "v1.key.bbbb"
	digestLost = "v1.lost.aaaa"
)

// Times of the tests: a run ended at t0.
var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(after time.Duration) *metav1.Time {
	return &metav1.Time{Time: t0.Add(after)}
}

// An option changes a situation.
type option func(*Situation)

// given is an object with inputs that were never applied, with all actions allowed,
// a minute after t0.
func given(os ...option) Situation {
	s := Situation{
		Policy:     common.ObserveAndDelete,
		Create:     true,
		Update:     true,
		Generation: 3,
		Digest:     digestA,
		Poll:       10 * time.Minute,
		Now:        t0.Add(time.Minute),
	}

	for _, o := range os {
		o(&s)
	}

	return s
}

func applied(digest string) option {
	return func(s *Situation) {
		s.Recorded.AppliedDigest = digest
		s.Recorded.Executed = true
		s.Recorded.LastApply = &common.Apply{ID: "1", State: common.StatePresent, InputsDigest: digest, Result: common.PhaseSucceeded, Attempts: 1, CompletionTime: at(0)}
	}
}

func lastFailed(state common.RunState, digest string, attempts int64, result common.RunPhase) option {
	return func(s *Situation) {
		s.Recorded.Executed = true
		s.Recorded.LastApply = &common.Apply{ID: "2", State: state, InputsDigest: digest, Result: result, Attempts: attempts, CompletionTime: at(0), NextRetryTime: at(2 * time.Minute)}
		s.Recorded.LastRun = &common.Run{ID: "2", Phase: result, State: state, Message: `task "Install" failed on host "db1": no space`}
	}
}

func running(state common.RunState) option {
	return func(s *Situation) {
		s.Active = &Active{Run: common.Run{Mode: common.ModeApply, State: state}}
	}
}

// queued is a run that waits for its turn.
func queued(state common.RunState) option {
	return func(s *Situation) {
		s.Active = &Active{Run: common.Run{Mode: common.ModeApply, State: state}, Queued: true}
	}
}

func ended(state common.RunState) option {
	return func(s *Situation) {
		s.Active = &Active{Run: common.Run{Mode: common.ModeApply, State: state, Phase: common.PhaseSucceeded}}
	}
}

func absentSucceeded(s *Situation) {
	s.Recorded.LastApply = &common.Apply{ID: "3", State: common.StateAbsent, InputsDigest: inputs.AbsentDigest(3), Result: common.PhaseSucceeded, CompletionTime: at(0)}
}

// notBegun is a last run that was canceled before it began.
func notBegun(t common.RunTrigger) option {
	return func(s *Situation) {
		s.Recorded.LastRun = &common.Run{ID: "4", Mode: common.ModeApply, State: common.StatePresent, Trigger: t, Phase: common.PhaseCanceled, Reason: runs.ReasonNotStarted, CompletionTime: at(0)}
	}
}

// neverExecuted is an object with content that could never be installed.
func neverExecuted(s *Situation) { s.Recorded.Executed = false }

// asked for another run after a while, which is 10 s at least.
func asked(after time.Duration) option {
	return func(s *Situation) { s.Recorded.NextRunTime, s.Least = at(after), 10*time.Second }
}

// drifted is an object with dependents that were changed.
func drifted(s *Situation) { s.Drifted = true }

// adopted inputs are those of which a check said that there is nothing to do.
func adopted(s *Situation) { s.Recorded.AppliedDigest = digestA }

func interruptions(n int64) option     { return func(s *Situation) { s.Recorded.Interruptions = n } }
func policy(p common.RunPolicy) option { return func(s *Situation) { s.Policy = p } }
func deleted(s *Situation)             { s.Deleted = true; s.Digest = "" }
func later(d time.Duration) option     { return func(s *Situation) { s.Now = t0.Add(d) } }
func limit(n int64) option             { return func(s *Situation) { s.RetryLimit = n } }
func allow(create, update bool) option {
	return func(s *Situation) { s.Create, s.Update = create, update }
}

func request(token, handled string) option {
	return func(s *Situation) { s.Request, s.Recorded.HandledRequest = token, handled }
}

func starts(state common.RunState, t common.RunTrigger, attempt int64) *Start {
	return &Start{Mode: common.ModeApply, State: state, Trigger: t, Attempt: attempt}
}

const retryMessage = `present run failed: task "Install" failed on host "db1": no space; attempt 2 follows at 2026-01-02T03:06:05Z`

func TestDecide(t *testing.T) {
	present, absent := common.StatePresent, common.StateAbsent
	exhaustedMessage := `present run failed: task "Install" failed on host "db1": no space; gave up after attempt 2 of 2: raise spec.forProvider.retryLimit, request a run with a new value of the annotation crossplane.io/reconcile-requested-at, or change the inputs`

	cases := map[string]struct {
		reason string
		s      Situation
		want   Decision
	}{
		"NeverApplied": {
			reason: "What was never applied should be created.",
			s:      given(),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerCreated, 1)},
		},
		"NeverAppliedRunOnChange": {
			reason: "RunOnChange should apply what was never applied.",
			s:      given(policy(common.RunOnChange)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerCreated, 1)},
		},
		"NeverAppliedOnlyUpdate": {
			reason: "When only Update is allowed, the first apply should be an update of something that exists.",
			s:      given(allow(false, true)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerCreated, 1)},
		},
		"NeverAppliedOnlyCreate": {
			reason: "When only Create is allowed, the first apply should be allowed.",
			s:      given(allow(true, false)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerCreated, 1)},
		},
		"NeverAppliedOnlyObserve": {
			reason: "When neither is allowed nothing should be started.",
			s:      given(allow(false, false)),
			want:   Decision{Exists: true},
		},
		"FirstRunInProgress": {
			reason: "A run in progress should be left alone.",
			s:      given(running(present)),
			want:   Decision{Exists: true},
		},
		"ChangedWhileRunning": {
			reason: "Changed inputs should wait for the run in progress.",
			s:      given(applied(digestB), running(present)),
			want:   Decision{Exists: true},
		},
		"RequestedWhileRunning": {
			reason: "A request should wait for the run in progress.",
			s:      given(applied(digestA), running(present), request("now", "")),
			want:   Decision{Exists: true},
		},
		"Queued": {
			reason: "A run that waits for its turn should go on waiting for as long as it is wanted.",
			s:      given(applied(digestA), queued(present), later(time.Hour)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerPoll, 1)},
		},
		"QueuedNotWanted": {
			reason: "A run that waits is none that has to be started.",
			s:      given(policy(common.RunOnChange), applied(digestA), queued(present)),
			want:   Decision{Exists: true},
		},
		"ChangedWhileQueued": {
			reason: "What waits should be what is wanted now.",
			s:      given(applied(digestB), queued(present)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerChanged, 1)},
		},
		"RequestedWhileQueued": {
			reason: "A run that waits should answer what somebody has asked for meanwhile.",
			s:      given(applied(digestA), queued(present), request("now", "before")),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerRequested, 1)},
		},
		"EndedNotWritten": {
			reason: "The result of a run should be written before anything else is started.",
			s:      given(applied(digestB), ended(present)),
			want:   Decision{Exists: true, Until: t0.Add(time.Minute + soon)},
		},
		"FailedNotWritten": {
			reason: "A failure should be reported with the result, even when the retry is due.",
			s:      given(lastFailed(present, digestA, 1, common.PhaseFailed), ended(present), later(time.Hour)),
			want:   Decision{Exists: true, Until: t0.Add(time.Hour + soon), Failure: errors.New(retryMessage)},
		},
		"ExhaustedNotWritten": {
			reason: "The result of the last attempt should not promise another one.",
			s:      given(lastFailed(present, digestA, 2, common.PhaseFailed), ended(present), limit(2), later(time.Hour)),
			want:   Decision{Exists: true, Until: t0.Add(time.Hour + soon), Failure: errors.New(exhaustedMessage), Exhausted: true},
		},
		"AppliedNotDue": {
			reason: "What was applied should not be applied again before a poll interval has passed since its end.",
			s:      given(applied(digestA)),
			want:   Decision{Exists: true, Until: t0.Add(10 * time.Minute)},
		},
		"AppliedDue": {
			reason: "ObserveAndDelete should apply again a poll interval after the end of the last run.",
			s:      given(applied(digestA), later(10*time.Minute)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerPoll, 1)},
		},
		"AppliedByClockAhead": {
			reason: "What was applied at a time to come should not be left alone until then: the clock was wrong.",
			s:      given(applied(digestA), later(-365*24*time.Hour)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerPoll, 1)},
		},
		"AppliedByClockSlightlyAhead": {
			reason: "Clocks that differ by seconds should change nothing.",
			s:      given(applied(digestA), later(-30*time.Second)),
			want:   Decision{Exists: true, Until: t0.Add(10 * time.Minute)},
		},
		"AppliedDueNoUpdate": {
			reason: "When Update is not allowed nothing should be applied again.",
			s:      given(applied(digestA), later(time.Hour), allow(true, false)),
			want:   Decision{Exists: true},
		},
		"AppliedRunOnChange": {
			reason: "RunOnChange should not run at a mere poll.",
			s:      given(policy(common.RunOnChange), applied(digestA), later(time.Hour)),
			want:   Decision{Exists: true},
		},
		"Drifted": {
			reason: "What the content has made, and somebody has changed, should be put right at once.",
			s:      given(applied(digestA), drifted),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerDependents, 1)},
		},
		"DriftedRunOnChange": {
			reason: "That it is watched asks for it also under RunOnChange.",
			s:      given(policy(common.RunOnChange), applied(digestA), drifted),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerDependents, 1)},
		},
		"DriftedNoUpdate": {
			reason: "What may not be applied should not be.",
			s:      given(applied(digestA), drifted, allow(true, false)),
			want:   Decision{Exists: true},
		},
		"AskedFor": {
			reason: "Content that asks for another run should get it, also under RunOnChange.",
			s:      given(policy(common.RunOnChange), applied(digestA), asked(30*time.Second)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerPoll, 1)},
		},
		"AskedForLater": {
			reason: "It should get it in place of a poll, and not before.",
			s:      given(applied(digestA), asked(time.Hour), later(30*time.Minute)),
			want:   Decision{Exists: true, Until: t0.Add(time.Hour)},
		},
		"AskedForAtOnce": {
			reason: "Content should not keep the provider busy.",
			s:      given(applied(digestA), asked(time.Second), later(5*time.Second)),
			want:   Decision{Exists: true, Until: t0.Add(10 * time.Second)},
		},
		"DriftedRunning": {
			reason: "A run in progress may be what has changed it.",
			s:      given(applied(digestA), drifted, running(present)),
			want:   Decision{Exists: true},
		},
		"DriftedDeleted": {
			reason: "Nothing should be put right that is about to go.",
			s:      given(applied(digestA), drifted, deleted),
			want:   Decision{Exists: true, Start: starts(common.StateAbsent, common.TriggerDeleted, 1)},
		},
		"KeptDeleted": {
			reason: "What is kept goes without a run, whatever the policies say.",
			s:      given(applied(digestA), allow(false, false), deleted, func(s *Situation) { s.Keeps = true }),
		},
		"KeptDeletedRunning": {
			reason: "A run in progress should not be cut off for it: the finalizer waits for its end.",
			s:      given(applied(digestA), running(present), deleted, func(s *Situation) { s.Keeps = true }),
		},
		"Changed": {
			reason: "Changed inputs should be applied at once.",
			s:      given(applied(digestB)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerChanged, 1)},
		},
		"ChangedRunOnChange": {
			reason: "RunOnChange should apply changed inputs at once.",
			s:      given(policy(common.RunOnChange), applied(digestB)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerChanged, 1)},
		},
		"ChangedNoUpdate": {
			reason: "When Update is not allowed changed inputs should not be applied.",
			s:      given(applied(digestB), allow(true, false)),
			want:   Decision{Exists: true},
		},
		"Requested": {
			reason: "A request should start a run that is not due.",
			s:      given(applied(digestA), request("now", "before")),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerRequested, 1)},
		},
		"RequestedRunOnChange": {
			reason: "A request should start a run under every policy.",
			s:      given(policy(common.RunOnChange), applied(digestA), request("now", "")),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerRequested, 1)},
		},
		"RequestHandled": {
			reason: "A request that was answered should not start another run.",
			s:      given(policy(common.RunOnChange), applied(digestA), request("now", "now")),
			want:   Decision{Exists: true},
		},
		"FailedBackingOff": {
			reason: "An early retry should be refused, and the failure reported.",
			s:      given(lastFailed(present, digestA, 1, common.PhaseFailed)),
			want:   Decision{Exists: true, Failure: errors.New(retryMessage), Until: t0.Add(2 * time.Minute)},
		},
		"FailedByClockAhead": {
			reason: "A retry that is further away than any back-off should not be waited for: the clock was wrong.",
			s:      given(lastFailed(present, digestA, 1, common.PhaseFailed), later(-365*24*time.Hour)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerRetry, 2)},
		},
		"FailedDue": {
			reason: "A failed run should be retried when its back-off is over.",
			s:      given(lastFailed(present, digestA, 1, common.PhaseFailed), later(2*time.Minute)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerRetry, 2)},
		},
		"FailedRunOnChange": {
			reason: "RunOnChange should retry what failed.",
			s:      given(policy(common.RunOnChange), applied(digestA), lastFailed(present, digestA, 4, common.PhaseTimedOut), later(2*time.Minute)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerRetry, 5)},
		},
		"FailedChanged": {
			reason: "Changed inputs should be tried at once after a failure, and counted from one.",
			s:      given(lastFailed(present, digestB, 4, common.PhaseFailed)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerChanged, 1)},
		},
		"FailedRequested": {
			reason: "A request should not wait for the back-off.",
			s:      given(lastFailed(present, digestA, 1, common.PhaseFailed), request("now", "")),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerRequested, 2)},
		},
		"FailedRevertedToApplied": {
			reason: "Going back to inputs that were applied before other inputs failed should apply them again.",
			s:      given(applied(digestA), lastFailed(present, digestB, 1, common.PhaseFailed)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerChanged, 1)},
		},
		"Exhausted": {
			reason: "After the last attempt nothing should be started, whatever the time.",
			s:      given(lastFailed(present, digestA, 2, common.PhaseFailed), limit(2), later(time.Hour)),
			want:   Decision{Exists: true, Exhausted: true, Failure: errors.New(exhaustedMessage)},
		},
		"ExhaustedLimitRaised": {
			reason: "A higher limit should start again after the last attempt.",
			s:      given(lastFailed(present, digestA, 2, common.PhaseFailed), limit(3), later(2*time.Minute)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerRetry, 3)},
		},
		"ExhaustedRequestHandled": {
			reason: "A request that was answered by an attempt beyond the limit should not start another one.",
			s:      given(lastFailed(present, digestA, 2, common.PhaseFailed), limit(2), later(time.Hour), request("now", "now")),
			want:   Decision{Exists: true, Exhausted: true, Failure: errors.New(exhaustedMessage)},
		},
		"ExhaustedChanged": {
			reason: "Changed inputs should start again after the last attempt.",
			s:      given(lastFailed(present, digestB, 2, common.PhaseFailed), limit(2)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerChanged, 1)},
		},
		"ExhaustedRequested": {
			reason: "A request should start again after the last attempt.",
			s:      given(lastFailed(present, digestA, 2, common.PhaseFailed), limit(2), request("now", "")),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerRequested, 3)},
		},
		"Interrupted": {
			reason: "An interrupted run should be retried like one that failed.",
			s:      given(lastFailed(present, digestA, 1, common.PhaseInterrupted), later(2*time.Minute)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerRetry, 2)},
		},
		"InterruptedWithLimit": {
			reason: "Interruptions should not use up attempts.",
			s:      given(lastFailed(present, digestA, 0, common.PhaseInterrupted), interruptions(9), limit(1), later(2*time.Minute)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerRetry, 1)},
		},
		"Adopted": {
			reason: "ObserveAndDelete should apply what only a check said to be there.",
			s:      given(adopted),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerPoll, 1)},
		},
		"AdoptedRunOnChange": {
			reason: "Inputs that a clean check took for applied are not changed.",
			s:      given(policy(common.RunOnChange), adopted),
			want:   Decision{Exists: true},
		},
		"AdoptedChange": {
			reason: "Inputs that a clean check took for applied after others were applied are not changed.",
			s:      given(policy(common.RunOnChange), applied(digestB), adopted),
			want:   Decision{Exists: true},
		},
		"ChangedWithRequest": {
			reason: "Changed inputs should be applied once, whatever is requested: the run answers the request.",
			s:      given(applied(digestB), request("now", "")),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerChanged, 1)},
		},
		"RequestedNotAllowed": {
			reason: "A request should not make up for what the management policies do not allow.",
			s:      given(applied(digestA), allow(true, false), request("now", "")),
			want:   Decision{Exists: true},
		},
		"FailedOnlyCreate": {
			reason: "When only Create is allowed, a first apply that failed should be retried.",
			s:      given(lastFailed(present, digestA, 1, common.PhaseFailed), allow(true, false), later(2*time.Minute)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerRetry, 2)},
		},
		"NotBegun": {
			reason: "A run that was canceled before it began is no attempt.",
			s:      given(notBegun(common.TriggerCreated)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerCreated, 1)},
		},
		"DeletedNotBegun": {
			reason: "What was canceled before it began should be gone at once.",
			s:      given(deleted, notBegun(common.TriggerCreated)),
			want:   Decision{},
		},
		"DeletedInterruptedInQueue": {
			reason: "Nothing begins before it was persisted: what waited when the provider ended should be gone at once.",
			s: given(deleted, notBegun(common.TriggerCreated), func(s *Situation) {
				s.Recorded.LastRun.Phase = common.PhaseInterrupted
			}),
			want: Decision{},
		},
		"DeletedQueuedRetry": {
			reason: "What was tried before the run that did not begin should be removed.",
			s:      given(deleted, lastFailed(present, digestA, 1, common.PhaseFailed), notBegun(common.TriggerRetry)),
			want:   Decision{Exists: true, Start: starts(absent, common.TriggerDeleted, 1)},
		},
		"DeletedNeverAppliedOnlyDelete": {
			reason: "When only Delete is allowed, what others have made should be removed.",
			s:      given(deleted, allow(false, false)),
			want:   Decision{Exists: true, Start: starts(absent, common.TriggerDeleted, 1)},
		},
		"DeletedExhausted": {
			reason: "What was tried in vain should be removed, and attempts counted from one.",
			s:      given(lastFailed(present, digestA, 2, common.PhaseFailed), deleted, limit(2), later(time.Hour)),
			want:   Decision{Exists: true, Start: starts(absent, common.TriggerDeleted, 1)},
		},
		"DeletingExhausted": {
			reason: "After the last attempt to remove something nothing should be started, and the object should stay.",
			s:      given(lastFailed(absent, inputs.AbsentDigest(3), 2, common.PhaseFailed), deleted, limit(2), later(time.Hour)),
			want: Decision{
				Exists: true, Exhausted: true,
				Failure: errors.New(`absent run failed: task "Install" failed on host "db1": no space; gave up after attempt 2 of 2: raise spec.forProvider.retryLimit, ` +
					`request a run with a new value of the annotation crossplane.io/reconcile-requested-at, or give the deletion run up with spec.forProvider.onDelete: {policy: Keep}`),
			},
		},
		"DeletedNeverBegun": {
			reason: "What was never begun should be gone at once.",
			s:      given(deleted),
			want:   Decision{},
		},
		"DeletedAdopted": {
			reason: "What a clean check found to be there should be removed, although it was never applied.",
			s:      given(deleted, adopted),
			want:   Decision{Exists: true, Start: starts(absent, common.TriggerDeleted, 1)},
		},
		"DeletedWhileChecking": {
			reason: "A check run in progress should be canceled, too.",
			s:      given(deleted, checking),
			want:   Decision{Exists: true, Cancel: true},
		},
		"DeletedApplied": {
			reason: "What was applied should be removed.",
			s:      given(applied(digestA), deleted),
			want:   Decision{Exists: true, Start: starts(absent, common.TriggerDeleted, 1)},
		},
		"DeletedNeverExecuted": {
			reason: "An object whose content could never be installed has done nothing, and should go at once.",
			s:      given(lastFailed(common.StatePresent, digestA, 2, common.PhaseFailed), neverExecuted, deleted),
			want:   Decision{},
		},
		"DeletedFailed": {
			reason: "What an apply failed with should be removed at once, and attempts counted from one.",
			s:      given(lastFailed(present, digestA, 7, common.PhaseFailed), deleted, limit(2)),
			want:   Decision{Exists: true, Start: starts(absent, common.TriggerDeleted, 1)},
		},
		"DeletedWhileRunning": {
			reason: "A present run in progress should be canceled first.",
			s:      given(applied(digestA), running(present), deleted),
			want:   Decision{Exists: true, Cancel: true},
		},
		"DeletedWhileQueued": {
			reason: "A deleted object should not wait for a run that has not begun.",
			s:      given(deleted, applied(digestA), queued(present)),
			want:   Decision{Exists: true, Start: starts(absent, common.TriggerDeleted, 1)},
		},
		"DeletingRequestedWhileQueued": {
			reason: "A deletion that waits should answer what somebody has asked for meanwhile.",
			s:      given(deleted, lastFailed(absent, inputs.AbsentDigest(3), 1, common.PhaseFailed), queued(absent), request("now", "before")),
			want:   Decision{Exists: true, Start: starts(absent, common.TriggerRequested, 2)},
		},
		"DeletedHeld": {
			reason: "Nothing is written of an object that others do not let go, and looking at it all the time changes nothing.",
			s:      given(applied(digestA), ended(present), deleted, func(s *Situation) { s.Held = true }),
			want:   Decision{Exists: true},
		},
		"DeletedCanceledNotWritten": {
			reason: "The result of the canceled run should be written before the next is started.",
			s:      given(applied(digestA), ended(present), deleted),
			want:   Decision{Exists: true, Until: t0.Add(time.Minute + soon)},
		},
		"Deleting": {
			reason: "An absent run in progress should be left alone.",
			s:      given(applied(digestA), running(absent), deleted),
			want:   Decision{Exists: true},
		},
		"DeletingEndedNotWritten": {
			reason: "The object should stay until the result of its absent run was written.",
			s:      given(absentSucceeded, ended(absent), deleted),
			want:   Decision{Exists: true, Until: t0.Add(time.Minute + soon)},
		},
		"DeletingSucceeded": {
			reason: "The object should go after its absent run succeeded.",
			s:      given(absentSucceeded, deleted),
			want:   Decision{},
		},
		"DeletingSucceededRequested": {
			reason: "A request should not keep an object whose absent run succeeded.",
			s:      given(absentSucceeded, deleted, request("now", "")),
			want:   Decision{},
		},
		"DeletingFailedBackingOff": {
			reason: "An absent run that failed should keep the object and be reported.",
			s:      given(lastFailed(absent, inputs.AbsentDigest(3), 1, common.PhaseFailed), deleted),
			want: Decision{
				Exists:  true,
				Until:   t0.Add(2 * time.Minute),
				Failure: errors.New(`absent run failed: task "Install" failed on host "db1": no space; attempt 2 follows at 2026-01-02T03:06:05Z`),
			},
		},
		"DeletingFailedDue": {
			reason: "An absent run that failed should be retried when its back-off is over.",
			s:      given(lastFailed(absent, inputs.AbsentDigest(3), 1, common.PhaseFailed), deleted, later(2*time.Minute)),
			want:   Decision{Exists: true, Start: starts(absent, common.TriggerDeleted, 2)},
		},
		"DeletingFailedChanged": {
			reason: "A changed spec should be tried at once.",
			s:      given(lastFailed(absent, inputs.AbsentDigest(2), 5, common.PhaseFailed), deleted, limit(5)),
			want:   Decision{Exists: true, Start: starts(absent, common.TriggerDeleted, 1)},
		},
		"DeletingFailedRequested": {
			reason: "A request should start the next attempt at once.",
			s:      given(lastFailed(absent, inputs.AbsentDigest(3), 5, common.PhaseFailed), deleted, limit(5), request("now", "")),
			want:   Decision{Exists: true, Start: starts(absent, common.TriggerRequested, 6)},
		},
		"CanceledWaiting": {
			reason: "A run that somebody has canceled while it waits should end, and not begin.",
			s:      given(func(s *Situation) { s.Active, s.Canceled = &Active{Run: common.Run{ID: "2"}, Queued: true}, "2" }),
			want:   Decision{Exists: true, Cancel: true},
		},
		"DeletingInterrupted": {
			reason: "An absent run that was interrupted should be retried.",
			s:      given(lastFailed(absent, inputs.AbsentDigest(3), 1, common.PhaseInterrupted), deleted, later(time.Hour)),
			want:   Decision{Exists: true, Start: starts(absent, common.TriggerDeleted, 2)},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Decide(tc.s)
			if diff := cmp.Diff(tc.want, got, test.EquateErrors()); diff != "" {
				t.Errorf("\n%s\ndecide(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReady(t *testing.T) {
	was := xpv2.Available()

	cases := map[string]struct {
		reason string
		s      Situation
		was    xpv2.Condition
		want   xpv2.Condition
	}{
		"New": {
			reason: "What was never applied should be creating.",
			s:      given(),
			want:   xpv2.Creating(),
		},
		"Running": {
			reason: "New inputs that are being applied are not ready.",
			s:      given(running(common.StatePresent)),
			want:   common.Running(),
		},
		"Applied": {
			reason: "Inputs that were applied should be ready.",
			s:      given(applied(digestA)),
			want:   xpv2.Available(),
		},
		"Changed": {
			reason: "Inputs that differ from those applied are not ready.",
			s:      given(applied(digestB)),
			was:    was,
			want:   common.InputsChanged(),
		},
		"ChangedNoUpdate": {
			reason: "Where updating is not allowed Ready should stay.",
			s:      given(applied(digestB), allow(true, false)),
			was:    was,
			want:   was,
		},
		"Periodic": {
			reason: "A periodic run in progress should leave Ready as it is.",
			s: given(applied(digestA), running(common.StatePresent), func(s *Situation) {
				s.Recorded.LastApply = &common.Apply{ID: "5", State: common.StatePresent, InputsDigest: digestA}
			}),
			was:  was,
			want: was,
		},
		"Spared": {
			reason: "A periodic run that came not as far as its content leaves what was applied as it was.",
			s: given(applied(digestA), lastFailed(common.StatePresent, digestA, 1, common.PhaseFailed), func(s *Situation) {
				s.Recorded.LastApply.Untouched = true
			}),
			was:  common.Running(),
			want: xpv2.Available(),
		},
		"SparedOthers": {
			reason: "Other inputs that could not be applied are not ready.",
			s: given(applied(digestB), lastFailed(common.StatePresent, digestA, 1, common.PhaseFailed), func(s *Situation) {
				s.Recorded.LastApply.Untouched = true
			}),
			was:  was,
			want: common.RunFailed().WithMessage(`task "Install" failed on host "db1": no space`),
		},
		"PeriodicAfterFailure": {
			reason: "A retry in progress should leave Ready as it is.",
			s: given(applied(digestA), running(common.StatePresent), func(s *Situation) {
				s.Recorded.LastApply = &common.Apply{ID: "5", State: common.StatePresent, InputsDigest: digestA}
			}),
			was:  common.RunFailed(),
			want: common.RunFailed(),
		},
		"Failed": {
			reason: "A failed apply is not ready, and says why.",
			s:      given(applied(digestA), lastFailed(common.StatePresent, digestA, 1, common.PhaseFailed)),
			was:    was,
			want:   common.RunFailed().WithMessage(`task "Install" failed on host "db1": no space`),
		},
		"FailedRetryQueued": {
			reason: "The reason of a failure should be said while the retry waits for its turn.",
			s: given(lastFailed(common.StatePresent, digestA, 1, common.PhaseFailed), notBegun(common.TriggerRetry), func(s *Situation) {
				s.Recorded.LastRun.Phase = common.PhaseQueued
			}),
			was:  common.RunFailed().WithMessage("no space"),
			want: common.RunFailed().WithMessage("no space"),
		},
		"InterruptedRetrying": {
			reason: "A run that was interrupted and is made up for, as the first attempt, should leave Ready as it is.",
			s: given(running(common.StatePresent), func(s *Situation) {
				s.Recorded.LastApply = &common.Apply{ID: "2", State: common.StatePresent, InputsDigest: digestA, Attempts: 1}
				s.Recorded.LastRun = &common.Run{ID: "2", State: common.StatePresent, Trigger: common.TriggerRetry, Phase: common.PhaseRunning}
			}),
			was:  common.RunFailed().WithMessage("the provider ended"),
			want: common.RunFailed().WithMessage("the provider ended"),
		},
		"FailedRetrying": {
			reason: "The reason of a failure should be said while it is tried again.",
			s: given(running(common.StatePresent), func(s *Situation) {
				s.Recorded.LastApply = &common.Apply{ID: "5", State: common.StatePresent, InputsDigest: digestA, Attempts: 2}
			}),
			was:  common.RunFailed().WithMessage("no space"),
			want: common.RunFailed().WithMessage("no space"),
		},
		"FailedChangedRunning": {
			reason: "The reason of a failure with other inputs should not be said any more.",
			s: given(running(common.StatePresent), func(s *Situation) {
				s.Recorded.LastApply = &common.Apply{ID: "5", State: common.StatePresent, InputsDigest: digestA, Attempts: 1}
			}),
			was:  common.RunFailed().WithMessage("no space"),
			want: common.Running(),
		},
		"Exhausted": {
			reason: "What is not tried again should say how often it was tried, why it failed, and what to do.",
			s:      given(lastFailed(common.StatePresent, digestA, 2, common.PhaseFailed), limit(2)),
			want: common.RetriesExhausted().WithMessage(`task "Install" failed on host "db1": no space; gave up after attempt 2 of 2: raise spec.forProvider.retryLimit, ` +
				`request a run with a new value of the annotation crossplane.io/reconcile-requested-at, or change the inputs`),
		},
		"ExhaustedWithoutWords": {
			reason: "What is not tried again should say so, also when the reason is not known any more.",
			s: given(lastFailed(common.StatePresent, digestA, 2, common.PhaseFailed), limit(2), func(s *Situation) {
				s.Recorded.LastRun = nil
			}),
			want: common.RetriesExhausted().WithMessage(`gave up after attempt 2 of 2: raise spec.forProvider.retryLimit, ` +
				`request a run with a new value of the annotation crossplane.io/reconcile-requested-at, or change the inputs`),
		},
		"NotAllowed": {
			reason: "What may not be applied is not being created.",
			s:      given(allow(false, false)),
			want:   common.NotApplied("spec.managementPolicies allow neither Create nor Update"),
		},
		"NotAllowedChecking": {
			reason: "What may not be applied should not seem to be while it is checked.",
			s:      given(allow(false, false), policy(common.CheckWhenObserve), checking),
			want:   common.NotApplied("spec.managementPolicies allow neither Create nor Update; status.atProvider.drift shows what would change"),
		},
		"NotCheckable": {
			reason: "What a check cannot tell anything about is not being created.",
			s: given(policy(common.CheckWhenObserve), lastChecked(digestA, common.PhaseSucceeded, 0), func(s *Situation) {
				s.Recorded.LastRun.Reason = runs.ReasonNotCheckable
			}),
			want: common.NotApplied("a check run cannot tell what there is to do, see the condition Checkable"),
		},
		"Adopted": {
			reason: "Inputs of which a check says that there is nothing to do should be ready.",
			s:      given(adopted),
			want:   xpv2.Available(),
		},
		"AdoptedAfterFailure": {
			reason: "Inputs of which a check says that there is nothing to do are not ready before an apply succeeded, after others have failed.",
			s:      given(adopted, lastFailed(common.StatePresent, digestB, 1, common.PhaseFailed)),
			was:    common.RunFailed(),
			want:   common.InputsChanged(),
		},
		"FailedReverted": {
			reason: "Going back to inputs that were applied before other inputs failed is not ready until they were applied again.",
			s:      given(applied(digestA), lastFailed(common.StatePresent, digestB, 1, common.PhaseFailed)),
			was:    common.RunFailed(),
			want:   common.InputsChanged(),
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Ready(tc.s, tc.was)
			if diff := cmp.Diff(tc.want, got, test.EquateConditions()); diff != "" {
				t.Errorf("\n%s\nready(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRebaselined(t *testing.T) {
	readyAt := func(generation int64) xpv2.Condition { return xpv2.Available().WithObservedGeneration(generation) }

	cases := map[string]struct {
		reason      string
		s           Situation
		ready       xpv2.Condition
		wantApplied string
		wantLast    string
	}{
		"Comparable": {
			reason:      "Digests of the same key should be left alone.",
			s:           given(applied(digestB)),
			ready:       readyAt(3),
			wantApplied: digestB,
			wantLast:    digestB,
		},
		"KeyLost": {
			reason:      "An object whose generation was applied should count as applied when the key was lost.",
			s:           given(applied(digestLost)),
			ready:       readyAt(3),
			wantApplied: digestA,
			wantLast:    digestA,
		},
		"KeyLostSpecChanged": {
			reason:      "An object whose spec was changed since should be applied.",
			s:           given(applied(digestLost)),
			ready:       readyAt(2),
			wantApplied: digestLost,
			wantLast:    digestLost,
		},
		"KeyLostNotReady": {
			reason:      "An object whose inputs were not applied should be applied.",
			s:           given(applied(digestLost)),
			ready:       common.InputsChanged().WithObservedGeneration(3),
			wantApplied: digestLost,
			wantLast:    digestLost,
		},
		"KeyLostFailed": {
			reason:      "An object that failed should keep its attempts.",
			s:           given(lastFailed(common.StatePresent, digestLost, 2, common.PhaseFailed)),
			ready:       common.RunFailed().WithObservedGeneration(3),
			wantApplied: "",
			wantLast:    digestA,
		},
		"KeyLostExhausted": {
			reason:      "An object that was tried as often as it may be should not be tried again.",
			s:           given(lastFailed(common.StatePresent, digestLost, 2, common.PhaseFailed)),
			ready:       common.RetriesExhausted().WithObservedGeneration(3),
			wantApplied: "",
			wantLast:    digestA,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Rebase(tc.s, tc.ready)
			if diff := cmp.Diff(tc.wantApplied, got.AppliedDigest); diff != "" {
				t.Errorf("\n%s\nrebaselined(...): -want applied, +got applied:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.wantLast, got.LastApply.InputsDigest); diff != "" {
				t.Errorf("\n%s\nrebaselined(...): -want last, +got last:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestBackoff(t *testing.T) {
	cases := map[string]struct {
		reason   string
		attempts int64
		want     time.Duration
	}{
		"None":  {reason: "A run that did not count should be tried again soon.", attempts: 0, want: 5 * time.Second},
		"First": {reason: "The first pause should be short.", attempts: 1, want: 5 * time.Second},
		"Third": {reason: "Pauses should double.", attempts: 3, want: 20 * time.Second},
		"Many":  {reason: "Pauses should be capped, without overflow.", attempts: 1 << 40, want: 10 * time.Minute},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := backoff(tc.attempts); got != tc.want {
				t.Errorf("\n%s\nbackoff(%d): want %s, got %s", tc.reason, tc.attempts, tc.want, got)
			}
		})
	}
}

// A run that was asked for after the attempts were exhausted, and that ended by no fault of its own, is tried again.
func TestRequestedBlameless(t *testing.T) {
	for name, r := range map[string]runs.Report{
		"Pod evicted":      {Blameless: true, Run: common.Run{Phase: common.PhaseInterrupted, Reason: runs.ReasonPodEnded}},
		"Provider stopped": {Run: common.Run{Phase: common.PhaseCanceled}},
		"Disk full":        {Blameless: true, Run: common.Run{Phase: common.PhaseFailed, Reason: runs.ReasonInternal}},
		"Rights lacking":   {Blameless: true, NotBefore: t0.Add(runs.AccessAgain), Run: common.Run{Phase: common.PhaseFailed, Reason: runs.ReasonForbidden}},
	} {
		t.Run(name, func(t *testing.T) {
			s := given(lastFailed(common.StatePresent, digestA, 5, common.PhaseFailed), limit(5), func(s *Situation) { s.Request = "now" })

			st := Decide(s).Start
			if st == nil {
				t.Fatal("no start")
			}

			r.Run.ID, r.Run.Mode, r.Run.State, r.Run.Trigger, r.Run.InputsDigest = "7", st.Mode, st.State, st.Trigger, digestA
			r.Run.StartTime, r.Run.CompletionTime = at(0), at(0)
			r.Attempt, r.Request = st.Attempt, "now"
			Record(&s.Recorded, r)

			if d := Decide(s); d.Exhausted {
				t.Errorf("it should be tried again: %+v", d)
			}
		})
	}
}

// A check that was cut off says nothing of an apply with exhausted attempts.
func TestExhaustedBesideCheck(t *testing.T) {
	s := given(lastFailed(common.StatePresent, digestA, 5, common.PhaseFailed), limit(5), func(s *Situation) {
		s.Recorded.LastRun = &common.Run{ID: "9", Mode: common.ModeCheck, State: common.StatePresent, Phase: common.PhaseInterrupted, InputsDigest: digestA, CompletionTime: at(0)}
		s.Recorded.Interruptions = 1
	})

	if d := Decide(s); !d.Exhausted {
		t.Errorf("it should stay given up: %+v", d)
	}
}
