package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

func checking(s *Situation) {
	s.Active = &Active{Run: common.Run{Mode: common.ModeCheck, State: common.StatePresent}}
}

// lastChecked is a check that ended at t0, with a number of predicted changes.
func lastChecked(digest string, phase common.RunPhase, changed int64) option {
	return func(s *Situation) {
		s.Recorded.LastRun = &common.Run{
			ID: "c", Mode: common.ModeCheck, State: common.StatePresent, Trigger: common.TriggerChanged,
			InputsDigest: digest, Phase: phase, CompletionTime: at(0), Hosts: &common.HostTotals{Changed: changed},
		}

		if phase != common.PhaseSucceeded {
			s.Recorded.LastRun.Message = "no such host"
		}

		if changed > 0 {
			s.Recorded.Drift = &common.Drift{Changed: changed}
		}
	}
}

// recorded records the report of the last run in the observation.
func recorded(s *Situation) {
	r := runs.Report{Run: *s.Recorded.LastRun, Attempt: 1}
	s.Recorded.LastRun = nil
	Record(&s.Recorded, r)
}

// because sets the reason of the last run.
func because(reason string) option {
	return func(s *Situation) { s.Recorded.LastRun.Reason = reason }
}

// notCheckable is a last check without tasks that support check mode.
func notCheckable(s *Situation) { because(runs.ReasonNotCheckable)(s) }

// triggered sets the trigger of the last run.
func triggered(t common.RunTrigger) option {
	return func(s *Situation) { s.Recorded.LastRun.Trigger = t }
}

// lastAppliedRun is a last run that was an apply and ended at t0.
func lastAppliedRun(s *Situation) {
	s.Recorded.LastRun = &common.Run{ID: "1", Mode: common.ModeApply, State: common.StatePresent, Phase: common.PhaseSucceeded, CompletionTime: at(0)}
}

func TestDecideChecked(t *testing.T) {
	const checkFailed = "check run failed: no such host"

	for name, tc := range map[string]struct {
		reason string
		s      Situation
		want   string
	}{
		"Checking":                   {"A check run in progress should be left alone.", given(checking), ""},
		"NewCheckFailed":             {"A check that fails before anything was applied counts as a change.", given(lastChecked(digestA, common.PhaseFailed, 0)), "apply Created"},
		"Clean":                      {"Inputs that were checked and need no change should be left alone until the next check.", given(lastChecked(digestA, common.PhaseSucceeded, 0), func(s *Situation) { s.Recorded.AppliedDigest = digestA }), "until 10m0s"},
		"AskedFor":                   {"A run that the content has requested should be a check.", given(applied(digestA), lastAppliedRun, asked(30*time.Second)), "check Poll"},
		"DependentsChanged":          {"Changed dependents should start a check at once.", given(lastChecked(digestA, common.PhaseSucceeded, 0), applied(digestA), drifted), "check Dependents"},
		"DependentsDiffer":           {"Drift of dependents should be applied.", given(applied(digestA), drifted, lastChecked(digestA, common.PhaseSucceeded, 2), triggered(common.TriggerDependents)), "apply Dependents"},
		"NotCheckable":               {"Content that cannot be checked should not be applied, nor checked without a pause.", given(lastChecked(digestA, common.PhaseSucceeded, 0), notCheckable), "until 10m0s"},
		"Applied":                    {"An applied object should be checked after a poll interval.", given(applied(digestA), lastAppliedRun), "until 10m0s"},
		"CheckedByClockAhead":        {"A completion time far in the future should not delay the next check: the clock was wrong.", given(applied(digestA), lastAppliedRun, later(-365*24*time.Hour)), "check Poll"},
		"InterruptedByClockAhead":    {"An interruption far in the future should not delay the next check: the clock was wrong.", given(lastChecked(digestA, common.PhaseInterrupted, 0), later(-365*24*time.Hour)), "check Changed"},
		"Drifted":                    {"Drift should be applied.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1)), "apply Poll"},
		"DriftedNoUpdate":            {"Without Update, drift should only be shown.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), allow(true, false)), "until 10m0s"},
		"AppliedCheckFailed":         {"A failed check of an applied object should be reported, and repeated when it is due.", given(applied(digestA), lastChecked(digestA, common.PhaseFailed, 0)), "until 10m0s; fails: " + checkFailed},
		"ChangedCheckFailed":         {"A failed check of inputs that are not applied should be repeated after a pause, and not at the poll.", given(applied(digestB), lastChecked(digestA, common.PhaseFailed, 0), recorded, later(0)), "until 5s; fails: " + checkFailed},
		"ChangedCheckFailedDue":      {"After the pause, it should be checked again.", given(applied(digestB), lastChecked(digestA, common.PhaseFailed, 0), recorded, later(FirstBackoff)), "check Retry"},
		"Changed":                    {"Changed inputs should be checked at once.", given(applied(digestB), lastChecked(digestB, common.PhaseSucceeded, 0)), "check Changed"},
		"ApplyFailed":                {"An apply that failed should be retried without another check.", given(failing(digestA, 1), later(2*time.Minute)), "apply Retry; attempt 2"},
		"ApplyFailedRequested":       {"A request should start the next attempt at once, without another check.", given(failing(digestA, 1), request("now", "")), "apply Requested; attempt 2"},
		"ApplyExhausted":             {"After the last attempt nothing should be started, no check either.", given(failing(digestA, 1), limit(1), later(time.Hour)), "given up; fails: " + `present run failed: task "Install" failed on host "db1": no space; gave up after attempt 1 of 1: ` + `raise spec.forProvider.retryLimit, request a run with a new value of the annotation crossplane.io/reconcile-requested-at, or change the inputs`},
		"ApplyFailedNotAllowed":      {"A failed apply that must not be repeated should not prevent checks.", given(failing(digestA, 1), allow(false, false), later(20*time.Minute)), "check Poll"},
		"ApplyFailedReverted":        {"A return to the applied inputs after other inputs failed should be checked at once.", given(applied(digestA), failing(digestB, 1)), "check Changed"},
		"ApplyFailedThenClean":       {"After a failed apply, no check should be trusted before an apply succeeded.", given(failing(digestB, 3), lastChecked(digestA, common.PhaseSucceeded, 0), adopted), "apply Changed"},
		"ApplyFailedThenCheckFailed": {"After a failed apply, a failed check counts as a change.", given(applied(digestB), failing(digestB, 3), lastChecked(digestA, common.PhaseFailed, 0)), "apply Changed"},
		"ApplyNotBegun":              {"An apply that was canceled before it began should start again with its check.", given(notBegun(common.TriggerCreated)), "check Created"},
		"DriftNotBegun":              {"Drift should not be forgotten if its apply did not begin.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), notBegun(common.TriggerPoll)), "check Poll"},
		"DriftNotBegunJustNow":       {"A run that did not begin should start again after a pause.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), notBegun(common.TriggerPoll), later(time.Second)), "until 5s"},
		"DriftInterruptedInQueue": {
			"Drift should not be forgotten if the provider ended while its apply waited.",
			given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), notBegun(common.TriggerPoll), func(s *Situation) {
				s.Recorded.LastRun.Phase, s.Recorded.LastRun.Reason = common.PhaseInterrupted, runs.ReasonProviderEnded
			}),
			"check Poll",
		},
		"RequestNotBegun":              {"A requested apply should not be forgotten, although its check has answered the request.", given(applied(digestA), notBegun(common.TriggerRequested), request("now", "now")), "check Requested"},
		"RequestDiffers":               {"An apply that follows from a request should have the trigger Requested.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), request("now", "now"), triggered(common.TriggerRequested)), "apply Requested"},
		"CheckCanceledReverted":        {"A canceled check of former inputs should not count for the present inputs.", given(applied(digestA), lastChecked(digestB, common.PhaseCanceled, 0)), "check Changed"},
		"RequestedUnpublished":         {"An apply that is due anyway should answer the request.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 0), request("now", ""), func(s *Situation) { s.Unpublished = true }), "apply Requested"},
		"Unpublished":                  {"Missing connection details should start an apply.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 0), func(s *Situation) { s.Unpublished = true }), "apply Retry"},
		"RequestedNotAllowed":          {"Without a right to apply, a check should answer the request.", given(lastChecked(digestA, common.PhaseSucceeded, 2), allow(false, false), request("now", "")), "check Requested"},
		"RequestHandled":               {"A request that a check has answered should not start another one.", given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 0), request("now", "now")), "until 10m0s"},
		"CheckInterrupted":             {"A check that was interrupted should be repeated soon.", given(applied(digestA), lastChecked(digestA, common.PhaseInterrupted, 0)), "check Changed"},
		"CheckInterruptedJustNow":      {"A check that was interrupted should not be repeated at once.", given(applied(digestA), lastChecked(digestA, common.PhaseInterrupted, 0), later(time.Second)), "until 5s"},
		"CheckFailedByProvider":        {"A check that failed by an error of the provider should not count as a change.", given(lastChecked(digestA, common.PhaseFailed, 0), because(common.ReasonInternal)), "check Changed"},
		"CheckFailedByProviderJustNow": {"An error of the provider should be reported until the next check.", given(lastChecked(digestA, common.PhaseFailed, 0), because(common.ReasonInternal), later(time.Second)), "until 5s; fails: " + checkFailed},
		"CheckNotInstalled":            {"A check without its content should not count as a change.", given(lastChecked(digestA, common.PhaseFailed, 0), because(common.ReasonInstallFailed)), "check Changed"},
		"CheckForbidden":               {"A check without rights should not count as a change.", given(lastChecked(digestA, common.PhaseFailed, 0), because(common.ReasonForbidden)), "check Changed"},
		"CheckForbiddenJustNow":        {"A check without rights should be reported, and wait for a while.", given(lastChecked(digestA, common.PhaseFailed, 0), because(common.ReasonForbidden), later(29*time.Second)), "until 30s; fails: " + checkFailed},
		"CheckNotInstalledOften":       {"Repeated failures should increase the pause.", given(lastChecked(digestA, common.PhaseFailed, 0), because(common.ReasonInstallFailed), interruptions(5)), "until 1m20s; fails: " + checkFailed},
		"CheckInterruptedOften":        {"Repeated interruptions should increase the pause.", given(applied(digestA), lastChecked(digestA, common.PhaseInterrupted, 0), interruptions(6)), "until 2m40s"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.s.Policy = common.CheckWhenObserve

			got := Decide(tc.s)
			if diff := cmp.Diff(tc.want, tell(got)); diff != "" {
				t.Errorf("\n%s\ndecide(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRecordCheck(t *testing.T) {
	report := func(changed int64, reason string) runs.Report {
		return runs.Report{
			Run: common.Run{
				ID: "c", Mode: common.ModeCheck, State: common.StatePresent, Phase: common.PhaseSucceeded, Reason: reason,
				InputsDigest: digestA, StartTime: at(-time.Second), CompletionTime: at(0), Hosts: &common.HostTotals{Changed: changed},
			},
			Attempt: 1,
			Changed: []common.DriftTask{{Task: "Install", Host: "db1"}},
		}
	}
	before := common.AnsibleRunObservation{
		LastApply:     &common.Apply{ID: "1", State: common.StatePresent, Result: common.PhaseSucceeded},
		AppliedDigest: digestB,
		Drift:         &common.Drift{Changed: 7},
	}

	for name, tc := range map[string]struct {
		reason  string
		report  runs.Report
		applied string
		drift   *common.Drift
	}{
		"Differs": {
			reason:  "Predicted changes should be shown, and not count as applied.",
			report:  report(1, ""),
			applied: digestB,
			drift:   &common.Drift{Changed: 1, Tasks: []common.DriftTask{{Task: "Install", Host: "db1"}}},
		},
		"Clean": {
			reason:  "Inputs that need no change count as applied, and clear the drift.",
			report:  report(0, ""),
			applied: digestA,
		},
		"NotCheckable": {
			reason:  "Inputs that cannot be checked do not count as applied.",
			report:  report(0, runs.ReasonNotCheckable),
			applied: digestB,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := before.DeepCopy()
			Record(o, tc.report)

			want := before.DeepCopy()
			want.LastRun, want.AppliedDigest, want.Drift = &tc.report.Run, tc.applied, tc.drift

			if diff := cmp.Diff(want, o); diff != "" {
				t.Errorf("\n%s\nrecord(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
