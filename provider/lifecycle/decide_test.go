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

// Digests of the tests. Digests of the same key are comparable.
const (
	digestA    = "v1.key.aaaa"
	digestB    = "v1.key.bbbb"
	digestLost = "v1.lost.aaaa"
)

// t0 is the end of a run.
var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(after time.Duration) *metav1.Time {
	return &metav1.Time{Time: t0.Add(after)}
}

// An option changes a situation.
type option func(*Situation)

// given returns the situation of an object that was never applied, with all actions allowed,
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

// queued is a waiting run.
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

// notBegun is a last run that was canceled before its start.
func notBegun(t common.RunTrigger) option {
	return func(s *Situation) {
		s.Recorded.LastRun = &common.Run{ID: "4", Mode: common.ModeApply, State: common.StatePresent, Trigger: t, Phase: common.PhaseCanceled, Reason: runs.ReasonNotStarted, CompletionTime: at(0)}
	}
}

// neverExecuted is an object with content that was never installed.
func neverExecuted(s *Situation) { s.Recorded.Executed = false }

// asked is a request of the content for another run. The shortest time is 10 s.
func asked(after time.Duration) option {
	return func(s *Situation) { s.Recorded.NextRunTime, s.Least = at(after), 10*time.Second }
}

// drifted is an object with changed dependents.
func drifted(s *Situation) { s.Drifted = true }

// adopted is an object with inputs without changes according to a check.
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

// failing is an apply that failed a number of times.
func failing(digest string, attempts int64) option {
	return lastFailed(common.StatePresent, digest, attempts, common.PhaseFailed)
}

// tell returns a decision as text, with times relative to t0.
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
		"Queued":                        {"A waiting run should go on waiting as long as it is wanted.", given(applied(digestA), queued(present), later(time.Hour)), "apply Poll"},
		"ChangedWhileQueued":            {"The waiting run should have the present inputs.", given(applied(digestB), queued(present)), "apply Changed"},
		"EndedNotWritten":               {"The result of a run should be written before anything else is started.", given(applied(digestB), ended(present)), "until 1m1s"},
		"FailedNotWritten":              {"A failure should be reported with the result, even when the retry is due.", given(failing(digestA, 1), ended(present), later(time.Hour)), "until 1h0m1s; fails: " + retryMessage},
		"ExhaustedNotWritten":           {"The result of the last attempt should not promise another one.", given(failing(digestA, 2), ended(present), limit(2), later(time.Hour)), "until 1h0m1s; given up; fails: " + exhaustedMessage},
		"AppliedNotDue":                 {"An applied object should not be applied again before the poll interval is over.", given(applied(digestA)), "until 10m0s"},
		"AppliedByClockAhead":           {"A completion time far in the future should not delay the next apply: the clock was wrong.", given(applied(digestA), later(-365*24*time.Hour)), "apply Poll"},
		"AppliedByClockSlightlyAhead":   {"Clocks that differ by seconds should change nothing.", given(applied(digestA), later(-30*time.Second)), "until 10m0s"},
		"Drifted":                       {"Changed dependents should start an apply at once.", given(applied(digestA), drifted), "apply Dependents"},
		"DriftedRunOnChange":            {"Changed dependents should start an apply also with RunOnChange.", given(policy(common.RunOnChange), applied(digestA), drifted), "apply Dependents"},
		"AskedFor":                      {"A run that the content has requested should start, also with RunOnChange.", given(policy(common.RunOnChange), applied(digestA), asked(30*time.Second)), "apply Poll"},
		"AskedForLater":                 {"A requested run should replace the poll.", given(applied(digestA), asked(time.Hour), later(30*time.Minute)), "until 1h0m0s"},
		"AskedForAtOnce":                {"Requested runs should have a minimum interval.", given(applied(digestA), asked(time.Second), later(5*time.Second)), "until 10s"},
		"KeptDeletedRunning":            {"A run in progress should not be canceled: the finalizer waits for its end.", given(applied(digestA), running(present), deleted, func(s *Situation) { s.Keeps = true }), "gone"},
		"RequestHandled":                {"A request that was answered should not start another run.", given(policy(common.RunOnChange), applied(digestA), request("now", "now")), ""},
		"FailedBackingOff":              {"A retry should wait for the back-off, and the failure should be reported.", given(failing(digestA, 1)), "until 2m0s; fails: " + retryMessage},
		"FailedByClockAhead":            {"A retry time beyond any back-off should be ignored: the clock was wrong.", given(failing(digestA, 1), later(-365*24*time.Hour)), "apply Retry; attempt 2"},
		"FailedRunOnChange":             {"RunOnChange should retry a failed apply.", given(policy(common.RunOnChange), applied(digestA), lastFailed(present, digestA, 4, common.PhaseTimedOut), later(2*time.Minute)), "apply Retry; attempt 5"},
		"FailedChanged":                 {"Changed inputs should start at once after a failure, with attempt 1.", given(failing(digestB, 4)), "apply Changed"},
		"FailedRequested":               {"A request should not wait for the back-off.", given(failing(digestA, 1), request("now", "")), "apply Requested; attempt 2"},
		"FailedRevertedToApplied":       {"A return to the applied inputs after other inputs failed should apply them again.", given(applied(digestA), failing(digestB, 1)), "apply Changed"},
		"Exhausted":                     {"After the last attempt nothing should be started, whatever the time.", given(failing(digestA, 2), limit(2), later(time.Hour)), "given up; fails: " + exhaustedMessage},
		"InterruptedWithLimit":          {"Interruptions should not use up attempts.", given(lastFailed(present, digestA, 0, common.PhaseInterrupted), interruptions(9), limit(1), later(2*time.Minute)), "apply Retry"},
		"Adopted":                       {"ObserveAndDelete should apply inputs that only a check counted as applied.", given(adopted), "apply Poll"},
		"Adopts":                        {"An object to adopt should not run, also before its content is installed.", given(func(s *Situation) { s.Adopt = true }), "until 1m30s"},
		"AdoptedRunOnChange":            {"Inputs without changes according to a check are not changed.", given(policy(common.RunOnChange), adopted), ""},
		"AdoptedChange":                 {"Inputs without changes according to a check are not changed, after others were applied.", given(policy(common.RunOnChange), applied(digestB), adopted), ""},
		"ChangedWithRequest":            {"Changed inputs should be applied once: the run answers the request.", given(applied(digestB), request("now", "")), "apply Changed"},
		"FailedOnlyCreate":              {"With Create only, a failed first apply should be retried.", given(failing(digestA, 1), allow(true, false), later(2*time.Minute)), "apply Retry; attempt 2"},
		"NotBegun":                      {"A run that was canceled before it began does not count as an attempt.", given(notBegun(common.TriggerCreated)), "apply Created"},
		"DeletedNotBegun":               {"An object with a run that was canceled before it began should be gone at once.", given(deleted, notBegun(common.TriggerCreated)), "gone"},
		"DeletedNeverAppliedOnlyDelete": {"With Delete only, the deletion should run.", given(deleted, allow(false, false)), "remove Deleted"},
		"DeletedExhausted":              {"An exhausted object should be removed, with attempt 1.", given(failing(digestA, 2), deleted, limit(2), later(time.Hour)), "remove Deleted"},
		"DeletingExhausted":             {"After the last attempt of a deletion, no run should start, and the object should stay.", given(lastFailed(absent, inputs.AbsentDigest(3), 2, common.PhaseFailed), deleted, limit(2), later(time.Hour)), "given up; fails: " + `absent run failed: task "Install" failed on host "db1": no space; gave up after attempt 2 of 2: raise spec.forProvider.retryLimit, ` + `request a run with a new value of the annotation crossplane.io/reconcile-requested-at, or give the deletion run up with spec.forProvider.onDelete: {policy: Keep}`},
		"DeletedUnaware":                {"An object with content that ignores the state should be gone at once.", given(applied(digestA), deleted, func(s *Situation) { s.Unaware = true }), "gone"},
		"DeletedUnawareWhileRunning":    {"A run in progress should end first.", given(applied(digestA), running(present), deleted, func(s *Situation) { s.Unaware = true }), "cancel"},
		"DeletedAdopted":                {"Inputs that only a check counted as applied should be removed.", given(deleted, adopted), "remove Deleted"},
		"DeletedWhileChecking":          {"A check in progress should be canceled.", given(deleted, checking), "cancel"},
		"DeletedNeverExecuted":          {"An object with content that was never installed should be gone at once.", given(failing(digestA, 2), neverExecuted, deleted), "gone"},
		"DeletedWhileRunning":           {"A present run in progress should be canceled first.", given(applied(digestA), running(present), deleted), "cancel"},
		"DeletedWhileQueued":            {"A deleted object should not wait for a run that has not begun.", given(deleted, applied(digestA), queued(present)), "remove Deleted"},
		"DeletedHeld":                   {"An object with finalizers of others should wait for an event.", given(applied(digestA), ended(present), deleted, func(s *Situation) { s.Held = true }), ""},
		"DeletedCanceledNotWritten":     {"The result of the canceled run should be written before the next is started.", given(applied(digestA), ended(present), deleted), "until 1m1s"},
		"Deleting":                      {"An absent run in progress should be left alone.", given(applied(digestA), running(absent), deleted), ""},
		"DeletingSucceededRequested":    {"A request should not keep an object whose absent run succeeded.", given(absentSucceeded, deleted, request("now", "")), "gone"},
		"DeletingFailedBackingOff":      {"An absent run that failed should keep the object and be reported.", given(lastFailed(absent, inputs.AbsentDigest(3), 1, common.PhaseFailed), deleted), "until 2m0s; fails: " + `absent run failed: task "Install" failed on host "db1": no space; attempt 2 follows at 2026-01-02T03:06:05Z`},
		"DeletingFailedDue":             {"An absent run that failed should be retried when its back-off is over.", given(lastFailed(absent, inputs.AbsentDigest(3), 1, common.PhaseFailed), deleted, later(2*time.Minute)), "remove Deleted; attempt 2"},
		"DeletingFailedChanged":         {"A changed spec should be tried at once.", given(lastFailed(absent, inputs.AbsentDigest(2), 5, common.PhaseFailed), deleted, limit(5)), "remove Deleted"},
		"DeletingFailedRequested":       {"A request should start the next attempt at once.", given(lastFailed(absent, inputs.AbsentDigest(3), 5, common.PhaseFailed), deleted, limit(5), request("now", "")), "remove Requested; attempt 6"},
		"CanceledWaiting":               {"A run that is canceled while it waits should end, and not begin.", given(func(s *Situation) { s.Active, s.Canceled = &Active{Run: common.Run{ID: "2"}, Queued: true}, "2" }), "cancel"},
		"CanceledRunning":               {"A canceled run in progress should end.", given(running(present), shown, canceled("2")), "cancel"},
		"CanceledBefore":                {"A run with another id should go on.", given(running(present), shown, canceled("1")), ""},
		"Canceled":                      {"A canceled run should not be retried by itself.", given(cutOff, canceled("2"), later(9*10*time.Minute)), "given up; fails: " + `present run was canceled: task "Install" failed on host "db1": no space; it was canceled by the annotation ansible.crossplane.io/cancel: ` + `request a run with a new value of the annotation crossplane.io/reconcile-requested-at, or change the inputs`},
		"CanceledChanged":               {"Changed inputs should be applied after a cancellation.", given(cutOff, canceled("2"), func(s *Situation) { s.Digest = digestB }), "apply Changed"},
		"CanceledRequested":             {"A request should be answered after a cancellation.", given(cutOff, canceled("2"), request("now", "")), "apply Requested"},
		"CanceledCheck":                 {"A canceled check should be repeated when the next one is due.", given(applied(digestB), lastChecked(digestA, common.PhaseCanceled, 0), policy(common.CheckWhenObserve), canceled("c")), "until 10m0s; fails: check run was canceled: no such host"},
		"ExhaustedBesideCheck":          {"An interrupted check should not change the exhausted attempts of an apply.", given(failing(digestA, 2), lastChecked(digestA, common.PhaseInterrupted, 0), interruptions(1), limit(2)), "given up; fails: " + strings.Replace(exhaustedMessage, `: task "Install" failed on host "db1": no space`, "", 1)},

		// A run that awaits approval is checked again when labels or annotations have changed.
		"ApprovalCurrent":           {"An unchanged object should await its approval.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), guarded("a")), "until 10m0s"},
		"ApprovalChanged":           {"Changed metadata should be checked.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), guarded("b")), "check Changed"},
		"ApprovalUnchecked":         {"Changed metadata should be checked after a failed check.", given(applied(digestA), lastChecked(digestA, common.PhaseFailed, 0), guarded("b")), "check Changed"},
		"ApprovalClean":             {"If no run awaits approval, changed metadata should not start a check.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 0), guarded("b")), "until 10m0s"},
		"ApprovalAllTheTime":        {"Metadata that changes continuously should be checked at intervals.", given(lastChecked(digestA, common.PhaseSucceeded, 1), guarded("b"), later(time.Second)), "until 10s"},
		"ApprovalDeleted":           {"Changed metadata of a deleted object should be checked.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), guarded("b"), checkedDeletion), "check absent Deleted"},
		"ApprovalDeletedAllTheTime": {"Metadata of a deleted object that changes continuously should be checked at intervals.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), guarded("b"), checkedDeletion, later(time.Second)), "until 10s"},
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
	// again is an apply in progress, after a number of attempts with its inputs.
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
		"New":                   {"An object that was never applied should be creating.", given(), none, xpv2.Creating()},
		"Running":               {"New inputs that are being applied are not ready.", given(running(common.StatePresent)), none, applying},
		"Applied":               {"Inputs that were applied should be ready.", given(applied(digestA)), none, was},
		"Changed":               {"Inputs that differ from the applied ones are not ready.", given(applied(digestB)), was, changed},
		"ChangedNoUpdate":       {"Without Update, Ready should not change.", given(applied(digestB), allow(true, false)), was, was},
		"Spared":                {"A periodic run that did not execute its content should not change Ready.", given(applied(digestA), failing(digestA, 1), spared), applying, was},
		"SparedOthers":          {"Other inputs that could not be applied are not ready.", given(applied(digestB), failing(digestA, 1), spared), was, failed(noSpace)},
		"Failed":                {"A failed apply is not ready, with its message.", given(applied(digestA), failing(digestA, 1)), was, failed(noSpace)},
		"FailedRetryQueued":     {"The message of a failure should stay while the retry waits for its turn.", given(failing(digestA, 1), notBegun(common.TriggerRetry)), failed("x"), failed("x")},
		"FailedPeriodic":        {"A periodic run in progress should not change Ready.", given(applied(digestA), again(0, common.TriggerPoll)), failed("x"), failed("x")},
		"FailedInterrupted":     {"A run that repeats an interrupted run should not change Ready.", given(again(1, common.TriggerRetry)), failed("x"), failed("x")},
		"FailedChangedRunning":  {"The message of a failure with other inputs should be gone.", given(again(1, common.TriggerChanged)), failed("x"), applying},
		"Exhausted":             {"An exhausted object should show the attempts, the failure, and what to do.", given(failing(digestA, 2), limit(2)), none, exhausted(noSpace + "; " + gaveUp)},
		"ExhaustedWithoutWords": {"An exhausted object should show what to do even if the failure is not known any more.", given(failing(digestA, 2), limit(2), unknown), none, exhausted(gaveUp)},
		"NotAllowed":            {"An object that must not be applied should not be creating.", given(allow(false, false)), none, common.NotApplied("spec.managementPolicies allow neither Create nor Update")},
		"NotAllowedChecking":    {"An object that must not be applied should not be creating while it is checked.", given(allow(false, false), policy(common.CheckWhenObserve), checking), none, common.NotApplied("spec.managementPolicies allow neither Create nor Update; status.atProvider.drift shows what would change")},
		"NotCheckable":          {"An object that cannot be checked should not be creating.", given(policy(common.CheckWhenObserve), lastChecked(digestA, common.PhaseSucceeded, 0), notCheckable), none, common.NotApplied("a check run cannot tell what there is to do, see the condition Checkable")},
		"Adopted":               {"Inputs without changes according to a check should be ready.", given(adopted), none, was},
		"AdoptedAfterFailure":   {"After a failed apply, inputs without changes according to a check are not ready before an apply succeeded.", given(adopted, failing(digestB, 1)), failed(""), changed},
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
		"Comparable":         {"Digests of the same key should not change.", given(applied(digestB)), readyAt(3), digestB, digestB},
		"KeyLost":            {"An object with an applied generation should count as applied after the loss of the key.", given(applied(digestLost)), readyAt(3), digestA, digestA},
		"KeyLostSpecChanged": {"An object with a changed spec should be applied.", given(applied(digestLost)), readyAt(2), digestLost, digestLost},
		"KeyLostNotReady":    {"An object with inputs that were not applied should be applied.", given(applied(digestLost)), common.NotReady(common.ReasonInputsChanged).WithObservedGeneration(3), digestLost, digestLost},
		"KeyLostFailed":      {"An object that failed should keep its attempts.", given(lastFailed(common.StatePresent, digestLost, 2, common.PhaseFailed)), common.NotReady(common.ReasonRunFailed).WithObservedGeneration(3), "", digestA},
		"KeyLostExhausted":   {"An exhausted object should not be tried again.", given(lastFailed(common.StatePresent, digestLost, 2, common.PhaseFailed)), common.NotReady(common.ReasonRetriesExhausted).WithObservedGeneration(3), "", digestA},
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

// TestRequestedBlameless has a requested run after the last attempt that ends without a fault of its content. It is
// tried again.
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
				t.Fatal("the request should start a run")
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
