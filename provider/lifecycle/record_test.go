package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// TestRecordExecuted has runs that did or did not execute their content. Once content may have changed something, this
// stays recorded.
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
		// executed is true if content may have changed something, and untouched if neither the apply nor the failed ones
		// before have.
		executed, untouched bool
	}{
		"NotInstalled": {"Content that could not be installed has changed nothing.", succeeded, of(report(installing), report(failed)), false, true},
		"Own":          {"The machine could not execute the run.", succeeded, of(report(running, installed), report(failed, installed, own)), false, true},
		"Canceled":     {"The run was canceled before it began.", succeeded, of(report(running, installed), report(canceled, installed)), false, true},
		"Spared":       {"The apply before has changed nothing.", spared, of(report(installing), report(failed)), false, true},
		"Broken":       {"The failed apply before may have changed something.", broken, of(report(installing), report(failed)), false, false},
		"Content":      {"Content that finds no host, or cannot be loaded, has failed.", succeeded, of(report(running, installed, told), report(failed, installed, told)), false, false},
		"Succeeded":    {"A successful run is not untouched.", succeeded, of(report(common.PhaseSucceeded, installed)), false, false},
		"Told":         {"A run with results of tasks may have changed something.", succeeded, of(report(running, installed, told, touched)), true, false},
		"Failed":       {"A failed run may have changed something, even without results of tasks.", succeeded, of(report(running, installed, touched), report(failed, installed, touched)), true, false},
		"Touched":      {"A canceled run may have changed something.", succeeded, of(report(running, installed, touched), report(canceled, installed, touched)), true, false},
		"Stays":        {"A later run without changes does not reset it.", nil, of(report(failed, installed, touched), report(failed, installed)), true, false},
		"Interrupted":  {"A run with an unknown end may have changed something.", succeeded, of(report(running, installed, touched), lost.Interrupted(t0)), true, false},
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

// TestInterruptions has runs that ended without a fault of theirs: they do not count as attempts, and increase the
// back-off.
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
		"Failed":           {"A failed run counts as an attempt, and resets the interruptions.", 3, apply(failed), end(failed, 3, 4*FirstBackoff), 0},
		"NotBegun":         {"A run that has not begun does not count as an attempt.", 3, apply(canceled, notStarted), nil, 3},
		"Interrupted":      {"A run that ended with the provider does not count as an attempt.", 0, lost(first), end(interrupted, 0, FirstBackoff), 1},
		"InterruptedAgain": {"Several interruptions increase the back-off, and not the attempts.", 3, lost(), end(interrupted, 2, 32*FirstBackoff), 4},
		"InterruptedOften": {"The back-off is limited.", 1 << 40, lost(), end(interrupted, 2, lastBackoff), 1<<40 + 1},
		"Deletion":         {"Interruptions of deletions count in the same way.", 1, lost(deletion), end(interrupted, 2, 8*FirstBackoff), 2},
		"Blameless":        {"An error of the provider does not count as an attempt, and increases the back-off.", 1, apply(failed, blameless), end(failed, 2, 8*FirstBackoff), 2},
		"HeldBack":         {"NotBefore delays the next attempt.", 0, apply(failed, held(time.Hour)), end(failed, 2, time.Hour), 0},
		"HeldBackLess":     {"NotBefore does not shorten the back-off.", 0, apply(failed, held(time.Second)), end(failed, 2, 2*FirstBackoff), 0},
		"Canceled":         {"A canceled run, for example at the end of the provider, does not change the interruptions.", 2, apply(canceled), end(canceled, 2, 8*FirstBackoff), 2},

		// Checks have no attempts: only the interruptions are counted.
		"CheckFailed":       {"A failed check resets the interruptions.", 2, check("TaskFailed"), nil, 0},
		"CheckEdited":       {"A failed check of changed inputs is repeated. Interruptions with other inputs do not count.", 8, check("TaskFailed", edited), nil, 1},
		"CheckNotInstalled": {"A check without its content is repeated with a growing back-off.", 2, check(common.ReasonInstallFailed), nil, 3},
		"CheckJustFailed":   {"A check during the back-off of an installation is repeated with a growing back-off.", 2, check(common.ReasonInstallFailed, held(0)), nil, 3},
		"CheckWithoutPod":   {"A check without a Pod is repeated with a growing back-off.", 2, check(common.ReasonPodNotStarted, blameless), nil, 3},
		"CheckForbidden":    {"A check without rights is repeated at a constant interval.", 2, check(common.ReasonForbidden, held(0)), nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			o := &common.AnsibleRunObservation{Interruptions: tc.before, AppliedDigest: digestA, LastRun: &common.Run{ID: "0", InputsDigest: digestA}}

			// A report may be recorded any number of times.
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
