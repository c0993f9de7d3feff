package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// What did not come as far as its content has changed nothing, unless one before it has. What may have been changed once
// is not forgotten.
func TestRecordExecuted(t *testing.T) {
	type change = func(*runs.Report)

	report := func(phase common.RunPhase, changes ...change) runs.Report {
		r := runs.Report{Untouched: true, Attempt: 1, Run: common.Run{ID: "2", Mode: common.ModeApply, State: common.StatePresent, Phase: phase, StartTime: at(0)}}
		for _, fn := range changes {
			fn(&r)
		}

		return r
	}
	of := func(reports ...runs.Report) []runs.Report { return reports }
	installed := func(r *runs.Report) { r.Content = &common.Content{} }
	told := func(r *runs.Report) { r.Run.Hosts = &common.HostTotals{} }
	touched := func(r *runs.Report) { r.Untouched = false }
	own := func(r *runs.Report) { r.Blameless = true }

	const installing, running, failed, canceled = common.PhaseInstalling, common.PhaseRunning, common.PhaseFailed, common.PhaseCanceled

	succeeded := &common.Apply{ID: "1", State: common.StatePresent, Result: common.PhaseSucceeded}
	broken := &common.Apply{ID: "1", State: common.StatePresent, Result: failed}
	spared := &common.Apply{ID: "1", State: common.StatePresent, Result: failed, Untouched: true}
	lost := report(running)

	for name, tc := range map[string]struct {
		reason  string
		before  *common.Apply
		reports []runs.Report
		// executed content may have changed something, and an apply is untouched if neither it nor one before has.
		executed, untouched bool
	}{
		"NotInstalled": {"Content that could not be installed has changed nothing.", succeeded, of(report(installing), report(failed)), false, true},
		"Own":          {"Nothing could be executed.", succeeded, of(report(running, installed), report(failed, installed, own)), false, true},
		"Canceled":     {"It was not let begin.", succeeded, of(report(running, installed), report(canceled, installed)), false, true},
		"Spared":       {"Nor was anything before.", spared, of(report(installing), report(failed)), false, true},
		"Broken":       {"What failed before may have changed something.", broken, of(report(installing), report(failed)), false, false},
		"Content":      {"Content that finds no host, or cannot be loaded, has failed.", succeeded, of(report(running, installed, told), report(failed, installed, told)), false, false},
		"Succeeded":    {"There is nothing to say.", succeeded, of(report(common.PhaseSucceeded, installed)), false, false},
		"Told":         {"A run that has told something may have changed something.", succeeded, of(report(running, installed, told, touched)), true, false},
		"Failed":       {"So may one that has failed, whatever it has told.", succeeded, of(report(running, installed, touched), report(failed, installed, touched)), true, false},
		"Touched":      {"And one that was canceled.", succeeded, of(report(running, installed, touched), report(canceled, installed, touched)), true, false},
		"Stays":        {"It is still there when a later one does nothing.", nil, of(report(failed, installed, touched), report(failed, installed)), true, false},
		"Interrupted":  {"A run whose end is not known may have changed something.", succeeded, of(report(running, installed, touched), lost.Interrupted(t0)), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := &common.AnsibleRunObservation{LastApply: tc.before}
			for _, r := range tc.reports {
				Record(o, r)
				Record(o, r)
			}

			if o.Executed != tc.executed || o.LastApply.Untouched != tc.untouched {
				t.Errorf("\n%s\nRecord(...): want executed %t, untouched %t, got %t, %+v", tc.reason, tc.executed, tc.untouched, o.Executed, o.LastApply)
			}
		})
	}
}

// TestInterruptions counts ends that were not the fault of a run: they are no attempts of it, and the next run waits longer.
func TestInterruptions(t *testing.T) {
	const running, failed, interrupted, canceled = common.PhaseRunning, common.PhaseFailed, common.PhaseInterrupted, common.PhaseCanceled

	type change = func(*runs.Report)

	report := func(mode common.RunMode, phase common.RunPhase, changes []change) runs.Report {
		r := runs.Report{Attempt: 3, Run: common.Run{ID: "1", Mode: mode, State: common.StatePresent, InputsDigest: digestA, Phase: phase, StartTime: at(0)}}
		if phase.Finished() {
			r.Run.CompletionTime = at(0)
		}

		for _, fn := range changes {
			fn(&r)
		}

		return r
	}
	apply := func(phase common.RunPhase, changes ...change) runs.Report {
		return report(common.ModeApply, phase, changes)
	}
	check := func(reason string, changes ...change) runs.Report {
		r := report(common.ModeCheck, failed, changes)
		r.Run.Reason = reason

		return r
	}
	lost := func(changes ...change) runs.Report {
		r := apply(running, changes...)
		return r.Interrupted(t0)
	}
	first := func(r *runs.Report) { r.Attempt = 1 }
	deletion := func(r *runs.Report) { r.Run.State = common.StateAbsent }
	edited := func(r *runs.Report) { r.Run.InputsDigest = digestB }
	notStarted := func(r *runs.Report) { r.Run.Reason = runs.ReasonNotStarted }
	blameless := func(r *runs.Report) { r.Blameless = true }
	held := func(after time.Duration) change {
		return func(r *runs.Report) { r.Blameless, r.NotBefore = true, t0.Add(after) }
	}
	end := func(result common.RunPhase, attempts int64, after time.Duration) *common.Apply {
		return &common.Apply{ID: "1", State: common.StatePresent, InputsDigest: digestA, Result: result, Attempts: attempts, CompletionTime: at(0), NextRetryTime: at(after)}
	}

	for name, tc := range map[string]struct {
		reason string
		before int64
		report runs.Report
		want   *common.Apply
		times  int64
	}{
		"Failed":           {"A run that failed is an attempt, and ended by itself.", 3, apply(failed), end(failed, 3, 4*FirstBackoff), 0},
		"NotBegun":         {"One that has not begun is none.", 3, apply(canceled, notStarted), nil, 3},
		"Interrupted":      {"The end of the provider is no attempt of the run.", 0, lost(first), end(interrupted, 0, FirstBackoff), 1},
		"InterruptedAgain": {"A run that was there at several such ends waits longer, and has as many attempts left.", 3, lost(), end(interrupted, 2, 32*FirstBackoff), 4},
		"InterruptedOften": {"It does not wait for ever.", 1 << 40, lost(), end(interrupted, 2, lastBackoff), 1<<40 + 1},
		"Deletion":         {"So it is with deletions.", 1, lost(deletion), end(interrupted, 2, 8*FirstBackoff), 2},
		"Blameless":        {"A fault of the provider's own is no attempt either, and the next one waits longer.", 1, apply(failed, blameless), end(failed, 2, 8*FirstBackoff), 2},
		"HeldBack":         {"What has no chance before some time waits for that.", 0, apply(failed, held(time.Hour)), end(failed, 2, time.Hour), 0},
		"HeldBackLess":     {"And no less than it would otherwise.", 0, apply(failed, held(time.Second)), end(failed, 2, 2*FirstBackoff), 0},
		"Canceled":         {"A provider that is told to stop cancels runs: it says nothing about them.", 2, apply(canceled), end(canceled, 2, 8*FirstBackoff), 2},

		// Nothing but the count says how often a check could not be made.
		"CheckFailed":       {"A check that fails has ended by itself.", 2, check("TaskFailed"), nil, 0},
		"CheckEdited":       {"One of inputs that are not applied is tried again. What ended with other inputs has nothing to do with it.", 8, check("TaskFailed", edited), nil, 1},
		"CheckNotInstalled": {"One whose content could not be installed is tried again, after longer each time.", 2, check(common.ReasonInstallFailed), nil, 3},
		"CheckJustFailed":   {"So is one whose content has just failed to install.", 2, check(common.ReasonInstallFailed, held(0)), nil, 3},
		"CheckWithoutPod":   {"And one without a Pod.", 2, check(common.ReasonPodNotStarted, blameless), nil, 3},
		"CheckForbidden":    {"One that lacks rights is tried again at even intervals.", 2, check(common.ReasonForbidden, held(0)), nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			o := &common.AnsibleRunObservation{Interruptions: tc.before, AppliedDigest: digestA, LastRun: &common.Run{ID: "0", InputsDigest: digestA}}

			// It may be recorded any number of times.
			Record(o, tc.report)
			Record(o, tc.report)

			if tc.want != nil {
				tc.want.State = tc.report.Run.State
			}

			if diff := cmp.Diff(tc.want, o.LastApply); diff != "" {
				t.Errorf("\n%s\n-want last apply, +got last apply:\n%s", tc.reason, diff)
			}

			if o.Interruptions != tc.times {
				t.Errorf("\n%s\nwant %d interruptions, got %d", tc.reason, tc.times, o.Interruptions)
			}
		})
	}
}
