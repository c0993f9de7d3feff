package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// failing is an apply that failed for so many times.
func failing(digest string, attempts int64) option {
	return lastFailed(common.StatePresent, digest, attempts, common.PhaseFailed)
}

// tell what was decided, in words: a time counts from t0.
func tell(d Decision) string {
	var all []string

	say := func(is bool, format string, args ...any) {
		if is {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}

	say(!d.Exists, "gone")
	say(d.Cancel, "cancel")

	if st := d.Start; st != nil {
		say(true, "%s", map[common.RunMode]map[common.RunState]string{
			common.ModeApply: {common.StatePresent: "apply", common.StateAbsent: "remove"},
			common.ModeCheck: {common.StatePresent: "check", common.StateAbsent: "check absent"},
		}[st.Mode][st.State]+" "+string(st.Trigger))
		say(st.Attempt != 1, "attempt %d", st.Attempt)
		say(st.Approved, "approved")
	}

	say(d.Held, "held")
	say(!d.Until.IsZero(), "until %s", d.Until.Sub(t0))
	say(d.Exhausted, "given up")
	say(d.Failure != nil, "fails: %v", d.Failure)

	return strings.Join(all, "; ")
}

const retryMessage = `present run failed: task "Install" failed on host "db1": no space; attempt 2 follows at 2026-01-02T03:06:05Z`

func TestDecide(t *testing.T) {
	present, absent := common.StatePresent, common.StateAbsent
	canceled := func(id string) option { return func(s *Situation) { s.Canceled = id } }
	shown := func(s *Situation) {
		s.Recorded.LastRun = &common.Run{ID: "2", Mode: common.ModeApply, Phase: common.PhaseRunning}
	}
	cutOff := lastFailed(present, digestA, 0, common.PhaseCanceled)
	exhaustedMessage := `present run failed: task "Install" failed on host "db1": no space; gave up after attempt 2 of 2: raise spec.forProvider.retryLimit, request a run with a new value of the annotation crossplane.io/reconcile-requested-at, or change the inputs`

	for name, tc := range map[string]struct {
		reason string
		s      Situation
		want   string
	}{
		"ChangedWhileRunning":           {"Changed inputs should wait for the run in progress.", given(applied(digestB), running(present)), ""},
		"Queued":                        {"A run that waits for its turn should go on waiting for as long as it is wanted.", given(applied(digestA), queued(present), later(time.Hour)), "apply Poll"},
		"ChangedWhileQueued":            {"What waits should be what is wanted now.", given(applied(digestB), queued(present)), "apply Changed"},
		"EndedNotWritten":               {"The result of a run should be written before anything else is started.", given(applied(digestB), ended(present)), "until 1m1s"},
		"FailedNotWritten":              {"A failure should be reported with the result, even when the retry is due.", given(failing(digestA, 1), ended(present), later(time.Hour)), "until 1h0m1s; fails: " + retryMessage},
		"ExhaustedNotWritten":           {"The result of the last attempt should not promise another one.", given(failing(digestA, 2), ended(present), limit(2), later(time.Hour)), "until 1h0m1s; given up; fails: " + exhaustedMessage},
		"AppliedNotDue":                 {"What was applied should not be applied again before a poll interval has passed since its end.", given(applied(digestA)), "until 10m0s"},
		"AppliedByClockAhead":           {"What was applied at a time to come should not be left alone until then: the clock was wrong.", given(applied(digestA), later(-365*24*time.Hour)), "apply Poll"},
		"AppliedByClockSlightlyAhead":   {"Clocks that differ by seconds should change nothing.", given(applied(digestA), later(-30*time.Second)), "until 10m0s"},
		"Drifted":                       {"What the content has made, and was changed since, should be put right at once.", given(applied(digestA), drifted), "apply Dependents"},
		"DriftedRunOnChange":            {"That it is watched asks for it also under RunOnChange.", given(policy(common.RunOnChange), applied(digestA), drifted), "apply Dependents"},
		"AskedFor":                      {"Content that asks for another run should get it, also under RunOnChange.", given(policy(common.RunOnChange), applied(digestA), asked(30*time.Second)), "apply Poll"},
		"AskedForLater":                 {"It should get it in place of a poll, and not before.", given(applied(digestA), asked(time.Hour), later(30*time.Minute)), "until 1h0m0s"},
		"AskedForAtOnce":                {"Content should not keep the provider busy.", given(applied(digestA), asked(time.Second), later(5*time.Second)), "until 10s"},
		"KeptDeletedRunning":            {"A run in progress should not be cut off for it: the finalizer waits for its end.", given(applied(digestA), running(present), deleted, func(s *Situation) { s.Keeps = true }), "gone"},
		"RequestHandled":                {"A request that was answered should not start another run.", given(policy(common.RunOnChange), applied(digestA), request("now", "now")), ""},
		"FailedBackingOff":              {"An early retry should be refused, and the failure reported.", given(failing(digestA, 1)), "until 2m0s; fails: " + retryMessage},
		"FailedByClockAhead":            {"A retry that is further away than any back-off should not be waited for: the clock was wrong.", given(failing(digestA, 1), later(-365*24*time.Hour)), "apply Retry; attempt 2"},
		"FailedRunOnChange":             {"RunOnChange should retry what failed.", given(policy(common.RunOnChange), applied(digestA), lastFailed(present, digestA, 4, common.PhaseTimedOut), later(2*time.Minute)), "apply Retry; attempt 5"},
		"FailedChanged":                 {"Changed inputs should be tried at once after a failure, and counted from one.", given(failing(digestB, 4)), "apply Changed"},
		"FailedRequested":               {"A request should not wait for the back-off.", given(failing(digestA, 1), request("now", "")), "apply Requested; attempt 2"},
		"FailedRevertedToApplied":       {"Going back to inputs that were applied before other inputs failed should apply them again.", given(applied(digestA), failing(digestB, 1)), "apply Changed"},
		"Exhausted":                     {"After the last attempt nothing should be started, whatever the time.", given(failing(digestA, 2), limit(2), later(time.Hour)), "given up; fails: " + exhaustedMessage},
		"InterruptedWithLimit":          {"Interruptions should not use up attempts.", given(lastFailed(present, digestA, 0, common.PhaseInterrupted), interruptions(9), limit(1), later(2*time.Minute)), "apply Retry"},
		"Adopted":                       {"ObserveAndDelete should apply what only a check said to be there.", given(adopted), "apply Poll"},
		"Adopts":                        {"What is to be adopted should not be run, also before its content is installed.", given(func(s *Situation) { s.Adopt = true }), "until 1m30s"},
		"AdoptedRunOnChange":            {"Inputs that a clean check took for applied are not changed.", given(policy(common.RunOnChange), adopted), ""},
		"AdoptedChange":                 {"Inputs that a clean check took for applied after others were applied are not changed.", given(policy(common.RunOnChange), applied(digestB), adopted), ""},
		"ChangedWithRequest":            {"Changed inputs should be applied once, whatever is requested: the run answers the request.", given(applied(digestB), request("now", "")), "apply Changed"},
		"FailedOnlyCreate":              {"When only Create is allowed, a first apply that failed should be retried.", given(failing(digestA, 1), allow(true, false), later(2*time.Minute)), "apply Retry; attempt 2"},
		"NotBegun":                      {"A run that was canceled before it began is no attempt.", given(notBegun(common.TriggerCreated)), "apply Created"},
		"DeletedNotBegun":               {"What was canceled before it began should be gone at once.", given(deleted, notBegun(common.TriggerCreated)), "gone"},
		"DeletedNeverAppliedOnlyDelete": {"When only Delete is allowed, what others have made should be removed.", given(deleted, allow(false, false)), "remove Deleted"},
		"DeletedExhausted":              {"What was tried in vain should be removed, and attempts counted from one.", given(failing(digestA, 2), deleted, limit(2), later(time.Hour)), "remove Deleted"},
		"DeletingExhausted":             {"After the last attempt to remove something nothing should be started, and the object should stay.", given(lastFailed(absent, inputs.AbsentDigest(3), 2, common.PhaseFailed), deleted, limit(2), later(time.Hour)), "given up; fails: " + `absent run failed: task "Install" failed on host "db1": no space; gave up after attempt 2 of 2: raise spec.forProvider.retryLimit, ` + `request a run with a new value of the annotation crossplane.io/reconcile-requested-at, or give the deletion run up with spec.forProvider.onDelete: {policy: Keep}`},
		"DeletedUnaware":                {"What would only be applied once more should be gone at once.", given(applied(digestA), deleted, func(s *Situation) { s.Unaware = true }), "gone"},
		"DeletedUnawareWhileRunning":    {"A run in progress should end first.", given(applied(digestA), running(present), deleted, func(s *Situation) { s.Unaware = true }), "cancel"},
		"DeletedAdopted":                {"What a clean check found to be there should be removed, although it was never applied.", given(deleted, adopted), "remove Deleted"},
		"DeletedWhileChecking":          {"A check run in progress should be canceled, too.", given(deleted, checking), "cancel"},
		"DeletedNeverExecuted":          {"An object whose content could never be installed has done nothing, and should go at once.", given(failing(digestA, 2), neverExecuted, deleted), "gone"},
		"DeletedWhileRunning":           {"A present run in progress should be canceled first.", given(applied(digestA), running(present), deleted), "cancel"},
		"DeletedWhileQueued":            {"A deleted object should not wait for a run that has not begun.", given(deleted, applied(digestA), queued(present)), "remove Deleted"},
		"DeletedHeld":                   {"Nothing is written of an object that others do not let go, and looking at it all the time changes nothing.", given(applied(digestA), ended(present), deleted, func(s *Situation) { s.Held = true }), ""},
		"DeletedCanceledNotWritten":     {"The result of the canceled run should be written before the next is started.", given(applied(digestA), ended(present), deleted), "until 1m1s"},
		"Deleting":                      {"An absent run in progress should be left alone.", given(applied(digestA), running(absent), deleted), ""},
		"DeletingSucceededRequested":    {"A request should not keep an object whose absent run succeeded.", given(absentSucceeded, deleted, request("now", "")), "gone"},
		"DeletingFailedBackingOff":      {"An absent run that failed should keep the object and be reported.", given(lastFailed(absent, inputs.AbsentDigest(3), 1, common.PhaseFailed), deleted), "until 2m0s; fails: " + `absent run failed: task "Install" failed on host "db1": no space; attempt 2 follows at 2026-01-02T03:06:05Z`},
		"DeletingFailedDue":             {"An absent run that failed should be retried when its back-off is over.", given(lastFailed(absent, inputs.AbsentDigest(3), 1, common.PhaseFailed), deleted, later(2*time.Minute)), "remove Deleted; attempt 2"},
		"DeletingFailedChanged":         {"A changed spec should be tried at once.", given(lastFailed(absent, inputs.AbsentDigest(2), 5, common.PhaseFailed), deleted, limit(5)), "remove Deleted"},
		"DeletingFailedRequested":       {"A request should start the next attempt at once.", given(lastFailed(absent, inputs.AbsentDigest(3), 5, common.PhaseFailed), deleted, limit(5), request("now", "")), "remove Requested; attempt 6"},
		"CanceledWaiting":               {"A run that is canceled while it waits should end, and not begin.", given(func(s *Situation) { s.Active, s.Canceled = &Active{Run: common.Run{ID: "2"}, Queued: true}, "2" }), "cancel"},
		"CanceledRunning":               {"So should one in progress.", given(running(present), shown, canceled("2")), "cancel"},
		"CanceledBefore":                {"Another one should go on.", given(running(present), shown, canceled("1")), ""},
		"Canceled":                      {"It should not be tried again by itself.", given(cutOff, canceled("2"), later(9*10*time.Minute)), "given up; fails: " + `present run was canceled: task "Install" failed on host "db1": no space; it was canceled by the annotation ansible.crossplane.io/cancel: ` + `request a run with a new value of the annotation crossplane.io/reconcile-requested-at, or change the inputs`},
		"CanceledChanged":               {"Other inputs should be applied.", given(cutOff, canceled("2"), func(s *Situation) { s.Digest = digestB }), "apply Changed"},
		"CanceledRequested":             {"A request should be answered.", given(cutOff, canceled("2"), request("now", "")), "apply Requested"},
		"CanceledCheck":                 {"A check should be made again when the next one is due.", given(applied(digestB), lastChecked(digestA, common.PhaseCanceled, 0), policy(common.CheckWhenObserve), canceled("c")), "until 10m0s; fails: check run was canceled: no such host"},
		"ExhaustedBesideCheck":          {"A check that was cut off says nothing of an apply with exhausted attempts.", given(failing(digestA, 2), lastChecked(digestA, common.PhaseInterrupted, 0), interruptions(1), limit(2)), "given up; fails: " + strings.Replace(exhaustedMessage, `: task "Install" failed on host "db1": no space`, "", 1)},

		// What awaits approval is checked again when labels or annotations have changed.
		"ApprovalCurrent":           {"What has not changed should await its approval.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), guarded("a")), "until 10m0s"},
		"ApprovalChanged":           {"What has changed should be checked.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), guarded("b")), "check Changed"},
		"ApprovalUnchecked":         {"So should what a check could not tell.", given(applied(digestA), lastChecked(digestA, common.PhaseFailed, 0), guarded("b")), "check Changed"},
		"ApprovalClean":             {"Where nothing awaits approval, labels and annotations should start nothing.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 0), guarded("b")), "until 10m0s"},
		"ApprovalAllTheTime":        {"What changes all the time should not be checked all the time.", given(lastChecked(digestA, common.PhaseSucceeded, 1), guarded("b"), later(time.Second)), "until 10s"},
		"ApprovalDeleted":           {"Of a deletion the same is true.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), guarded("b"), checkedDeletion), "check absent Deleted"},
		"ApprovalDeletedAllTheTime": {"Nor should it be checked all the time.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), guarded("b"), checkedDeletion, later(time.Second)), "until 10s"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Decide(tc.s)
			if diff := cmp.Diff(tc.want, tell(got)); diff != "" {
				t.Errorf("\n%s\ndecide(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReady(t *testing.T) {
	const (
		noSpace = `task "Install" failed on host "db1": no space`
		gaveUp  = "gave up after attempt 2 of 2: raise spec.forProvider.retryLimit, " +
			"request a run with a new value of the annotation crossplane.io/reconcile-requested-at, or change the inputs"
	)

	var none xpv2.Condition

	was, applying, changed := xpv2.Available(), common.NotReady(common.ReasonRunning), common.NotReady(common.ReasonInputsChanged)
	failed := func(message string) xpv2.Condition {
		return common.NotReady(common.ReasonRunFailed).WithMessage(message)
	}
	exhausted := func(message string) xpv2.Condition {
		return common.NotReady(common.ReasonRetriesExhausted).WithMessage(message)
	}
	spared := func(s *Situation) { s.Recorded.LastApply.Untouched = true }
	unknown := func(s *Situation) { s.Recorded.LastRun = nil }
	// again is an apply in progress of inputs that were tried so many times.
	again := func(attempts int64, t common.RunTrigger) option {
		return func(s *Situation) {
			r := common.Run{ID: "2", Mode: common.ModeApply, State: common.StatePresent, Trigger: t, Phase: common.PhaseRunning}
			s.Active, s.Recorded.LastRun = &Active{Run: r}, &r
			s.Recorded.LastApply = &common.Apply{ID: "2", State: common.StatePresent, InputsDigest: digestA, Attempts: attempts}
		}
	}

	for name, tc := range map[string]struct {
		reason    string
		s         Situation
		was, want xpv2.Condition
	}{
		"New":                   {"What was never applied should be creating.", given(), none, xpv2.Creating()},
		"Running":               {"New inputs that are being applied are not ready.", given(running(common.StatePresent)), none, applying},
		"Applied":               {"Inputs that were applied should be ready.", given(applied(digestA)), none, was},
		"Changed":               {"Inputs that differ from those applied are not ready.", given(applied(digestB)), was, changed},
		"ChangedNoUpdate":       {"Where updating is not allowed Ready should stay.", given(applied(digestB), allow(true, false)), was, was},
		"Spared":                {"A periodic run that came not as far as its content leaves what was applied as it was.", given(applied(digestA), failing(digestA, 1), spared), applying, was},
		"SparedOthers":          {"Other inputs that could not be applied are not ready.", given(applied(digestB), failing(digestA, 1), spared), was, failed(noSpace)},
		"Failed":                {"A failed apply is not ready, and says why.", given(applied(digestA), failing(digestA, 1)), was, failed(noSpace)},
		"FailedRetryQueued":     {"The reason of a failure should be said while the retry waits for its turn.", given(failing(digestA, 1), notBegun(common.TriggerRetry)), failed("x"), failed("x")},
		"FailedPeriodic":        {"A periodic run in progress should leave Ready as it is.", given(applied(digestA), again(0, common.TriggerPoll)), failed("x"), failed("x")},
		"FailedInterrupted":     {"So should one that makes up for one that was interrupted.", given(again(1, common.TriggerRetry)), failed("x"), failed("x")},
		"FailedChangedRunning":  {"The reason of a failure with other inputs should not be said any more.", given(again(1, common.TriggerChanged)), failed("x"), applying},
		"Exhausted":             {"What is not tried again should say how often it was tried, why it failed, and what to do.", given(failing(digestA, 2), limit(2)), none, exhausted(noSpace + "; " + gaveUp)},
		"ExhaustedWithoutWords": {"It should also when the reason is not known any more.", given(failing(digestA, 2), limit(2), unknown), none, exhausted(gaveUp)},
		"NotAllowed":            {"What may not be applied is not being created.", given(allow(false, false)), none, common.NotApplied("spec.managementPolicies allow neither Create nor Update")},
		"NotAllowedChecking":    {"What may not be applied should not seem to be while it is checked.", given(allow(false, false), policy(common.CheckWhenObserve), checking), none, common.NotApplied("spec.managementPolicies allow neither Create nor Update; status.atProvider.drift shows what would change")},
		"NotCheckable":          {"What a check cannot tell anything about is not being created.", given(policy(common.CheckWhenObserve), lastChecked(digestA, common.PhaseSucceeded, 0), notCheckable), none, common.NotApplied("a check run cannot tell what there is to do, see the condition Checkable")},
		"Adopted":               {"Inputs of which a check says that there is nothing to do should be ready.", given(adopted), none, was},
		"AdoptedAfterFailure":   {"Inputs of which a check says that there is nothing to do are not ready before an apply succeeded, after others have failed.", given(adopted, failing(digestB, 1)), failed(""), changed},
	} {
		t.Run(name, func(t *testing.T) {
			got := Ready(tc.s, tc.was)
			if diff := cmp.Diff(tc.want, got, test.EquateConditions()); diff != "" {
				t.Errorf("\n%s\nready(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRebase(t *testing.T) {
	readyAt := func(generation int64) xpv2.Condition { return xpv2.Available().WithObservedGeneration(generation) }

	for name, tc := range map[string]struct {
		reason      string
		s           Situation
		ready       xpv2.Condition
		wantApplied string
		wantLast    string
	}{
		"Comparable":         {"Digests of the same key should be left alone.", given(applied(digestB)), readyAt(3), digestB, digestB},
		"KeyLost":            {"An object whose generation was applied should count as applied when the key was lost.", given(applied(digestLost)), readyAt(3), digestA, digestA},
		"KeyLostSpecChanged": {"An object whose spec was changed since should be applied.", given(applied(digestLost)), readyAt(2), digestLost, digestLost},
		"KeyLostNotReady":    {"An object whose inputs were not applied should be applied.", given(applied(digestLost)), common.NotReady(common.ReasonInputsChanged).WithObservedGeneration(3), digestLost, digestLost},
		"KeyLostFailed":      {"An object that failed should keep its attempts.", given(lastFailed(common.StatePresent, digestLost, 2, common.PhaseFailed)), common.NotReady(common.ReasonRunFailed).WithObservedGeneration(3), "", digestA},
		"KeyLostExhausted":   {"An object that was tried as often as it may be should not be tried again.", given(lastFailed(common.StatePresent, digestLost, 2, common.PhaseFailed)), common.NotReady(common.ReasonRetriesExhausted).WithObservedGeneration(3), "", digestA},
	} {
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

// A run that was asked for after the attempts were exhausted, and that ended by no fault of its own, is tried again.
func TestRequestedBlameless(t *testing.T) {
	for name, r := range map[string]runs.Report{
		"Pod evicted":      {Blameless: true, Run: common.Run{Phase: common.PhaseInterrupted, Reason: runs.ReasonPodEnded}},
		"Provider stopped": {Run: common.Run{Phase: common.PhaseCanceled}},
		"Disk full":        {Blameless: true, Run: common.Run{Phase: common.PhaseFailed, Reason: common.ReasonInternal}},
		"Rights lacking":   {Blameless: true, NotBefore: t0.Add(runs.AccessAgain), Run: common.Run{Phase: common.PhaseFailed, Reason: common.ReasonForbidden}},
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
