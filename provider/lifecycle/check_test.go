package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/test"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

func checking(s *Situation) {
	s.Active = &Active{Run: common.Run{Mode: common.ModeCheck, State: common.StatePresent}}
}

// lastChecked is a check run that ended at t0, and would change some tasks.
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

// recorded takes the report of the last run into the observation.
func recorded(s *Situation) {
	r := runs.Report{Run: *s.Recorded.LastRun, Attempt: 1}
	s.Recorded.LastRun = nil
	Record(&s.Recorded, r)
}

// because of what the last run ended.
func because(reason string) option {
	return func(s *Situation) { s.Recorded.LastRun.Reason = reason }
}

// lastAppliedRun is the run of an apply, which ended at t0.
func lastAppliedRun(s *Situation) {
	s.Recorded.LastRun = &common.Run{ID: "1", Mode: common.ModeApply, State: common.StatePresent, Phase: common.PhaseSucceeded, CompletionTime: at(0)}
}

func TestDecideChecked(t *testing.T) {
	checks := func(t common.RunTrigger) *Start {
		return &Start{Mode: common.ModeCheck, State: common.StatePresent, Trigger: t, Attempt: 1}
	}
	present := common.StatePresent
	checkFailed := errors.New("check run failed: no such host")

	cases := map[string]struct {
		reason string
		s      Situation
		want   Decision
	}{
		"New": {
			reason: "New inputs should be checked first.",
			s:      given(),
			want:   Decision{Exists: true, Start: checks(common.TriggerCreated)},
		},
		"Checking": {
			reason: "A check run in progress should be left alone.",
			s:      given(checking),
			want:   Decision{Exists: true},
		},
		"NewDiffers": {
			reason: "What a check would change should be created.",
			s:      given(lastChecked(digestA, common.PhaseSucceeded, 2)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerCreated, 1)},
		},
		"NewDiffersOnlyUpdate": {
			reason: "When only Update is allowed, what a check would change should be updated.",
			s:      given(lastChecked(digestA, common.PhaseSucceeded, 2), allow(false, true)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerCreated, 1)},
		},
		"NewCheckFailed": {
			reason: "A check that fails before anything was applied counts as a change.",
			s:      given(lastChecked(digestA, common.PhaseFailed, 0)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerCreated, 1)},
		},
		"PreviewOnly": {
			reason: "Where nothing may be applied, what a check would change should only be shown, until the next check.",
			s:      given(lastChecked(digestA, common.PhaseSucceeded, 2), allow(false, false)),
			want:   Decision{Exists: true, Until: t0.Add(10 * time.Minute)},
		},
		"PreviewOnlyDue": {
			reason: "Where nothing may be applied, it should be checked again.",
			s:      given(lastChecked(digestA, common.PhaseSucceeded, 2), allow(false, false), later(10*time.Minute)),
			want:   Decision{Exists: true, Start: checks(common.TriggerPoll)},
		},
		"Clean": {
			reason: "Inputs that were checked and need no change should be left alone until the next check.",
			s:      given(lastChecked(digestA, common.PhaseSucceeded, 0), func(s *Situation) { s.Recorded.AppliedDigest = digestA }),
			want:   Decision{Exists: true, Until: t0.Add(10 * time.Minute)},
		},
		"AskedFor": {
			reason: "What the content asks for should be checked then.",
			s:      given(applied(digestA), lastAppliedRun, asked(30*time.Second)),
			want:   Decision{Exists: true, Start: checks(common.TriggerPoll)},
		},
		"DependentsChanged": {
			reason: "What the content has made, and somebody has changed, should be checked at once.",
			s:      given(lastChecked(digestA, common.PhaseSucceeded, 0), applied(digestA), drifted),
			want:   Decision{Exists: true, Start: checks(common.TriggerDependents)},
		},
		"DependentsDiffer": {
			reason: "What such a check would change should be put right.",
			s: given(applied(digestA), drifted, lastChecked(digestA, common.PhaseSucceeded, 2), func(s *Situation) {
				s.Recorded.LastRun.Trigger = common.TriggerDependents
			}),
			want: Decision{Exists: true, Start: starts(present, common.TriggerDependents, 1)},
		},
		"NotCheckable": {
			reason: "Content that cannot be checked should not be applied, nor checked without a pause.",
			s: given(lastChecked(digestA, common.PhaseSucceeded, 0), func(s *Situation) {
				s.Recorded.LastRun.Reason = runs.ReasonNotCheckable
			}),
			want: Decision{Exists: true, Until: t0.Add(10 * time.Minute)},
		},
		"Applied": {
			reason: "What was applied should be checked a poll interval later.",
			s:      given(applied(digestA), lastAppliedRun),
			want:   Decision{Exists: true, Until: t0.Add(10 * time.Minute)},
		},
		"CheckedByClockAhead": {
			reason: "What was checked at a time to come should not be left alone until then: the clock was wrong.",
			s:      given(applied(digestA), lastAppliedRun, later(-365*24*time.Hour)),
			want:   Decision{Exists: true, Start: checks(common.TriggerPoll)},
		},
		"InterruptedByClockAhead": {
			reason: "A check that was interrupted at a time to come should not be waited for: the clock was wrong.",
			s:      given(lastChecked(digestA, common.PhaseInterrupted, 0), later(-365*24*time.Hour)),
			want:   Decision{Exists: true, Start: checks(common.TriggerChanged)},
		},
		"AppliedDue": {
			reason: "What was applied should be checked when it is due.",
			s:      given(applied(digestA), lastAppliedRun, later(10*time.Minute)),
			want:   Decision{Exists: true, Start: checks(common.TriggerPoll)},
		},
		"Drifted": {
			reason: "Drift should be put right.",
			s:      given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerPoll, 1)},
		},
		"DriftedNoUpdate": {
			reason: "Where Update is not allowed drift should be shown only.",
			s:      given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), allow(true, false)),
			want:   Decision{Exists: true, Until: t0.Add(10 * time.Minute)},
		},
		"AppliedCheckFailed": {
			reason: "A check that fails after something was applied should be reported, and repeated when it is due.",
			s:      given(applied(digestA), lastChecked(digestA, common.PhaseFailed, 0)),
			want:   Decision{Exists: true, Until: t0.Add(10 * time.Minute), Failure: checkFailed},
		},
		"AppliedCheckFailedDue": {
			reason: "A check that failed should be repeated when it is due.",
			s:      given(applied(digestA), lastChecked(digestA, common.PhaseFailed, 0), later(10*time.Minute)),
			want:   Decision{Exists: true, Start: checks(common.TriggerPoll)},
		},
		"ChangedCheckFailed": {
			reason: "A failed check of inputs that are not applied should be repeated after a pause, and not at the poll.",
			s:      given(applied(digestB), lastChecked(digestA, common.PhaseFailed, 0), recorded, later(0)),
			want:   Decision{Exists: true, Until: t0.Add(FirstBackoff), Failure: checkFailed},
		},
		"ChangedCheckFailedDue": {
			reason: "After that it should be checked again.",
			s:      given(applied(digestB), lastChecked(digestA, common.PhaseFailed, 0), recorded, later(FirstBackoff)),
			want:   Decision{Exists: true, Start: checks(common.TriggerRetry)},
		},
		"Changed": {
			reason: "Changed inputs should be checked at once.",
			s:      given(applied(digestB), lastChecked(digestB, common.PhaseSucceeded, 0)),
			want:   Decision{Exists: true, Start: checks(common.TriggerChanged)},
		},
		"ChangedDiffers": {
			reason: "Changed inputs should be applied when a check of them would change something.",
			s:      given(applied(digestB), lastChecked(digestA, common.PhaseSucceeded, 1)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerChanged, 1)},
		},
		"ApplyFailed": {
			reason: "An apply that failed should be retried without another check.",
			s:      given(lastFailed(present, digestA, 1, common.PhaseFailed), later(2*time.Minute)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerRetry, 2)},
		},
		"ApplyFailedRequested": {
			reason: "A request should start the next attempt at once, without another check.",
			s:      given(lastFailed(present, digestA, 1, common.PhaseFailed), request("now", "")),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerRequested, 2)},
		},
		"ApplyExhausted": {
			reason: "After the last attempt nothing should be started, no check either.",
			s:      given(lastFailed(present, digestA, 1, common.PhaseFailed), limit(1), later(time.Hour)),
			want: Decision{Exists: true, Exhausted: true, Failure: errors.New(`present run failed: task "Install" failed on host "db1": no space; gave up after attempt 1 of 1: ` +
				`raise spec.forProvider.retryLimit, request a run with a new value of the annotation crossplane.io/reconcile-requested-at, or change the inputs`)},
		},
		"ApplyFailedNotAllowed": {
			reason: "An apply that failed and may not be repeated should not keep what would change from being shown.",
			s:      given(lastFailed(present, digestA, 1, common.PhaseFailed), allow(false, false), later(20*time.Minute)),
			want:   Decision{Exists: true, Start: checks(common.TriggerPoll)},
		},
		"ApplyFailedReverted": {
			reason: "Going back to inputs that were applied before others failed should be checked at once.",
			s:      given(applied(digestA), lastFailed(present, digestB, 1, common.PhaseFailed)),
			want:   Decision{Exists: true, Start: checks(common.TriggerChanged)},
		},
		"ApplyFailedThenClean": {
			reason: "After an apply that failed no check should be trusted before one succeeded.",
			s:      given(lastFailed(present, digestB, 3, common.PhaseFailed), lastChecked(digestA, common.PhaseSucceeded, 0), adopted),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerChanged, 1)},
		},
		"ApplyFailedThenCheckFailed": {
			reason: "After an apply that failed, a check that fails counts as a change.",
			s:      given(applied(digestB), lastFailed(present, digestB, 3, common.PhaseFailed), lastChecked(digestA, common.PhaseFailed, 0)),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerChanged, 1)},
		},
		"ApplyNotBegun": {
			reason: "An apply that was canceled before it began should be started again, by the check before it.",
			s:      given(notBegun(common.TriggerCreated)),
			want:   Decision{Exists: true, Start: checks(common.TriggerCreated)},
		},
		"DriftNotBegun": {
			reason: "Drift whose apply did not begin should not be forgotten.",
			s:      given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), notBegun(common.TriggerPoll)),
			want:   Decision{Exists: true, Start: checks(common.TriggerPoll)},
		},
		"DriftNotBegunJustNow": {
			reason: "What did not begin should not be started again without a pause.",
			s:      given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), notBegun(common.TriggerPoll), later(time.Second)),
			want:   Decision{Exists: true, Until: t0.Add(FirstBackoff)},
		},
		"DriftInterruptedInQueue": {
			reason: "Drift whose apply waited when the provider ended should not be forgotten.",
			s: given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), notBegun(common.TriggerPoll), func(s *Situation) {
				s.Recorded.LastRun.Phase, s.Recorded.LastRun.Reason = common.PhaseInterrupted, runs.ReasonProviderEnded
			}),
			want: Decision{Exists: true, Start: checks(common.TriggerPoll)},
		},
		"RequestNotBegun": {
			reason: "Nor should an apply that was asked for, when the check has answered the request already.",
			s:      given(applied(digestA), notBegun(common.TriggerRequested), request("now", "now")),
			want:   Decision{Exists: true, Start: checks(common.TriggerRequested)},
		},
		"RequestDiffers": {
			reason: "What was asked for should not wait behind what nobody asked for.",
			s: given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 1), request("now", "now"), func(s *Situation) {
				s.Recorded.LastRun.Trigger = common.TriggerRequested
			}),
			want: Decision{Exists: true, Start: starts(present, common.TriggerRequested, 1)},
		},
		"CheckCanceledReverted": {
			reason: "A check of former inputs that was cut off says nothing about those as they are now.",
			s:      given(applied(digestA), lastChecked(digestB, common.PhaseCanceled, 0)),
			want:   Decision{Exists: true, Start: checks(common.TriggerChanged)},
		},
		"ChangedWhileChecking": {
			reason: "A check of former inputs should not lead to an apply of those as they are now.",
			s:      given(applied(digestB), lastChecked(digestB, common.PhaseSucceeded, 1)),
			want:   Decision{Exists: true, Start: checks(common.TriggerChanged)},
		},
		"RequestedWhileChecking": {
			reason: "A request should wait for the check in progress.",
			s:      given(applied(digestA), checking, request("now", "")),
			want:   Decision{Exists: true},
		},
		"RequestedUnpublished": {
			reason: "Where an apply follows in any case, it should answer the request.",
			s:      given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 0), request("now", ""), func(s *Situation) { s.Unpublished = true }),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerRequested, 1)},
		},
		"Unpublished": {
			reason: "Connection details that are missing should be applied for.",
			s:      given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 0), func(s *Situation) { s.Unpublished = true }),
			want:   Decision{Exists: true, Start: starts(present, common.TriggerRetry, 1)},
		},
		"RequestedNotAllowed": {
			reason: "A request should be answered by a check where nothing may be applied.",
			s:      given(lastChecked(digestA, common.PhaseSucceeded, 2), allow(false, false), request("now", "")),
			want:   Decision{Exists: true, Start: checks(common.TriggerRequested)},
		},
		"RequestHandled": {
			reason: "A request that a check has answered should not start another one.",
			s:      given(applied(digestA), lastChecked(digestA, common.PhaseSucceeded, 0), request("now", "now")),
			want:   Decision{Exists: true, Until: t0.Add(10 * time.Minute)},
		},
		"ApplyFailedChanged": {
			reason: "Changed inputs should be checked after an apply that failed.",
			s:      given(lastFailed(present, digestB, 1, common.PhaseFailed)),
			want:   Decision{Exists: true, Start: checks(common.TriggerChanged)},
		},
		"Requested": {
			reason: "A request should be answered by a check.",
			s:      given(applied(digestA), lastAppliedRun, request("now", "")),
			want:   Decision{Exists: true, Start: checks(common.TriggerRequested)},
		},
		"CheckInterrupted": {
			reason: "A check that was interrupted should be repeated soon.",
			s:      given(applied(digestA), lastChecked(digestA, common.PhaseInterrupted, 0)),
			want:   Decision{Exists: true, Start: checks(common.TriggerChanged)},
		},
		"CheckInterruptedJustNow": {
			reason: "A check that was interrupted should not be repeated at once.",
			s:      given(applied(digestA), lastChecked(digestA, common.PhaseInterrupted, 0), later(time.Second)),
			want:   Decision{Exists: true, Until: t0.Add(FirstBackoff)},
		},
		"CheckFailedByProvider": {
			reason: "A check that failed by a fault of the provider says nothing about what was never applied.",
			s:      given(lastChecked(digestA, common.PhaseFailed, 0), because(runs.ReasonInternal)),
			want:   Decision{Exists: true, Start: checks(common.TriggerChanged)},
		},
		"CheckFailedByProviderJustNow": {
			reason: "It should be reported until the next one.",
			s:      given(lastChecked(digestA, common.PhaseFailed, 0), because(runs.ReasonInternal), later(time.Second)),
			want:   Decision{Exists: true, Until: t0.Add(FirstBackoff), Failure: checkFailed},
		},
		"CheckNotInstalled": {
			reason: "A check whose content could not be installed says nothing about what was never applied.",
			s:      given(lastChecked(digestA, common.PhaseFailed, 0), because(runs.ReasonInstallFailed)),
			want:   Decision{Exists: true, Start: checks(common.TriggerChanged)},
		},
		"CheckNotInstalledInTime": {
			reason: "Nor does one whose content took too long to install.",
			s:      given(lastChecked(digestA, common.PhaseTimedOut, 0), because(runs.ReasonInstallFailed)),
			want:   Decision{Exists: true, Start: checks(common.TriggerChanged)},
		},
		"CheckPodNotStarted": {
			reason: "Nor does one whose Pod could not start.",
			s:      given(lastChecked(digestA, common.PhaseFailed, 0), because(runs.ReasonPodNotStarted)),
			want:   Decision{Exists: true, Start: checks(common.TriggerChanged)},
		},
		"CheckForbidden": {
			reason: "Nor does one for which rights are missing.",
			s:      given(lastChecked(digestA, common.PhaseFailed, 0), because(runs.ReasonForbidden)),
			want:   Decision{Exists: true, Start: checks(common.TriggerChanged)},
		},
		"CheckForbiddenJustNow": {
			reason: "Somebody has to do something first, so it waits for a while, and is reported.",
			s:      given(lastChecked(digestA, common.PhaseFailed, 0), because(runs.ReasonForbidden), later(29*time.Second)),
			want:   Decision{Exists: true, Until: t0.Add(30 * time.Second), Failure: checkFailed},
		},
		"AppliedCheckForbidden": {
			reason: "After something was applied it does not wait for a poll either.",
			s:      given(applied(digestA), lastChecked(digestA, common.PhaseFailed, 0), because(runs.ReasonForbidden)),
			want:   Decision{Exists: true, Start: checks(common.TriggerChanged)},
		},
		"CheckNotInstalledOften": {
			reason: "What fails each time should wait longer each time.",
			s:      given(lastChecked(digestA, common.PhaseFailed, 0), because(runs.ReasonInstallFailed), interruptions(5)),
			want:   Decision{Exists: true, Until: t0.Add(16 * FirstBackoff), Failure: checkFailed},
		},
		"CheckInterruptedOften": {
			reason: "A check that was there whenever the provider ended should wait longer.",
			s:      given(applied(digestA), lastChecked(digestA, common.PhaseInterrupted, 0), interruptions(6)),
			want:   Decision{Exists: true, Until: t0.Add(32 * FirstBackoff)},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.s.Policy = common.CheckWhenObserve

			got := Decide(tc.s)
			if diff := cmp.Diff(tc.want, got, test.EquateErrors()); diff != "" {
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

	cases := map[string]struct {
		reason  string
		report  runs.Report
		applied string
		drift   *common.Drift
	}{
		"Differs": {
			reason:  "What would change should be shown, and does not count as applied.",
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
	}

	for name, tc := range cases {
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
