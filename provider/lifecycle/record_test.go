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
		"Interrupted":  {"A run whose end is not known may have changed something.", succeeded, of(report(running, installed, touched)), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := &common.AnsibleRunObservation{LastApply: tc.before}
			for _, r := range tc.reports {
				Record(o, r)
				Record(o, r)
			}

			if name == "Interrupted" && (o.Executed || Interrupt(o, t0) == nil) {
				t.Errorf("Nothing is known before: %+v", o)
			}

			if o.Executed != tc.executed || o.LastApply.Untouched != tc.untouched {
				t.Errorf("\n%s\nRecord(...): want executed %t, untouched %t, got %t, %+v", tc.reason, tc.executed, tc.untouched, o.Executed, o.LastApply)
			}
		})
	}
}

// A run that never began leaves what is known of the last apply as it was, also
// when it was persisted that it was about to.
func TestRecordNotBegun(t *testing.T) {
	notBegun := runs.Report{Attempt: 1, Untouched: true, Request: "token", Run: common.Run{
		ID: "2", Mode: common.ModeApply, State: common.StatePresent, Phase: common.PhaseCanceled, Reason: runs.ReasonNotStarted, StartTime: at(0), CompletionTime: at(time.Minute),
	}}
	persisted := notBegun
	persisted.Run.Phase, persisted.Run.Reason, persisted.Run.CompletionTime = common.PhaseQueued, "", nil

	for name, last := range map[string]*common.Apply{
		"Applied": {ID: "1", State: common.StatePresent, Result: common.PhaseSucceeded, Attempts: 1, CompletionTime: at(0)},
		"Failed":  {ID: "1", State: common.StatePresent, Result: common.PhaseFailed, Attempts: 3, CompletionTime: at(0), NextRetryTime: at(20 * time.Second)},
		"New":     nil,
	} {
		t.Run(name, func(t *testing.T) {
			o := common.AnsibleRunObservation{LastApply: last.DeepCopy()}

			for _, r := range []runs.Report{persisted, notBegun} {
				Record(&o, r)

				if diff := cmp.Diff(common.AnsibleRunObservation{LastRun: &r.Run, LastApply: last}, o); diff != "" {
					t.Errorf("A run that has not begun, and is %s, should only be shown: -want, +got:\n%s", r.Run.Phase, diff)
				}
			}
		})
	}
}

// An end that was not the run's fault is no attempt of that run.
func TestCutOff(t *testing.T) {
	run := func(id string, state common.RunState, phase common.RunPhase, attempt int64) runs.Report {
		r := runs.Report{Attempt: attempt, Run: common.Run{ID: id, Mode: common.ModeApply, State: state, InputsDigest: digestA, Phase: phase, StartTime: at(0)}}
		if phase.Finished() {
			r.Run.CompletionTime = at(0)
		}

		return r
	}
	end := func(state common.RunState, result common.RunPhase, attempts int64, after time.Duration) *common.Apply {
		return &common.Apply{ID: "1", State: state, InputsDigest: digestA, Result: result, Attempts: attempts, CompletionTime: at(0), NextRetryTime: at(after)}
	}
	blameless := func(notBefore time.Duration) runs.Report {
		r := run("1", common.StatePresent, common.PhaseFailed, 3)
		r.Blameless = true

		if notBefore > 0 {
			r.NotBefore = at(notBefore).Time
		}

		return r
	}
	present, absent := common.StatePresent, common.StateAbsent

	for name, tc := range map[string]struct {
		reason string
		before int64
		report runs.Report
		// provider ended while the run was in progress.
		provider bool
		want     *common.Apply
		times    int64
	}{
		"Failed": {
			reason: "A run that failed is an attempt, and ended by itself.",
			before: 3, report: run("1", present, common.PhaseFailed, 2), want: end(present, common.PhaseFailed, 2, 2*FirstBackoff),
		},
		"Interrupted": {
			reason:   "The end of the provider is no attempt of the run.",
			provider: true, report: run("1", present, common.PhaseRunning, 1), want: end(present, common.PhaseInterrupted, 0, FirstBackoff), times: 1,
		},
		"InterruptedAgain": {
			reason: "A run that was there at several such ends waits longer, and has as many attempts left.",
			before: 3, provider: true, report: run("1", present, common.PhaseRunning, 2), want: end(present, common.PhaseInterrupted, 1, 16*FirstBackoff), times: 4,
		},
		"InterruptedOften": {
			reason: "It does not wait for ever.",
			before: 1 << 40, provider: true, report: run("1", present, common.PhaseRunning, 1), want: end(present, common.PhaseInterrupted, 0, lastBackoff), times: 1<<40 + 1,
		},
		"InterruptedDeletion": {
			reason: "So it is with deletions.",
			before: 1, provider: true, report: run("1", absent, common.PhaseRunning, 3), want: end(absent, common.PhaseInterrupted, 2, 8*FirstBackoff), times: 2,
		},
		"Blameless": {
			reason: "A fault of the provider's own is no attempt either, and the next one waits longer.",
			before: 1, report: blameless(0), want: end(present, common.PhaseFailed, 2, 8*FirstBackoff), times: 2,
		},
		"HeldBack": {
			reason: "What has no chance before some time waits for that.",
			report: blameless(time.Hour), want: end(present, common.PhaseFailed, 2, time.Hour),
		},
		"HeldBackLess": {
			reason: "And no less than it would otherwise.",
			report: blameless(time.Second), want: end(present, common.PhaseFailed, 2, 2*FirstBackoff),
		},
		"Canceled": {
			reason: "A provider that is told to stop cancels runs: it says nothing about them.",
			before: 2, report: run("1", present, common.PhaseCanceled, 3), want: end(present, common.PhaseCanceled, 2, 8*FirstBackoff), times: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := &common.AnsibleRunObservation{Interruptions: tc.before}

			// It may be recorded any number of times.
			Record(o, tc.report)
			Record(o, tc.report)

			if got := Interrupt(o, t0) != nil; got != tc.provider {
				t.Errorf("\n%s\ninterrupt(...): want %t, got %t", tc.reason, tc.provider, got)
			}

			Interrupt(o, t0)

			if diff := cmp.Diff(tc.want, o.LastApply); diff != "" {
				t.Errorf("\n%s\n-want last apply, +got last apply:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.times, o.Interruptions); diff != "" {
				t.Errorf("\n%s\n-want interruptions, +got interruptions:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestCheckUntried: nothing but the count of interruptions says how often a check could not be made.
func TestCheckUntried(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		run    string
		change func(*runs.Report)
		want   int64
	}{
		"Failed":        {"A check that fails has ended by itself.", "TaskFailed", func(*runs.Report) {}, 0},
		"NewInputs":     {"One of inputs that are not applied is tried again, after longer each time.", "TaskFailed", func(r *runs.Report) { r.Run.InputsDigest = "new" }, 3},
		"NotInstalled":  {"One whose content could not be installed has not.", common.ReasonInstallFailed, func(*runs.Report) {}, 3},
		"JustFailed":    {"Nor has one whose content has just failed to install.", common.ReasonInstallFailed, func(r *runs.Report) { r.Blameless, r.NotBefore = true, t0 }, 3},
		"PodNotStarted": {"Nor has one without a Pod.", common.ReasonPodNotStarted, func(r *runs.Report) { r.Blameless = true }, 3},
		"Forbidden":     {"One that lacks rights is tried again at even intervals.", common.ReasonForbidden, func(r *runs.Report) { r.Blameless, r.NotBefore = true, t0 }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			o := &common.AnsibleRunObservation{Interruptions: 2}
			r := runs.Report{Attempt: 1, Untouched: true, Run: common.Run{
				ID: "1", Mode: common.ModeCheck, State: common.StatePresent, Phase: common.PhaseFailed, Reason: tc.run, StartTime: at(0), CompletionTime: at(0),
			}}
			tc.change(&r)

			// It may be recorded any number of times.
			Record(o, r)
			Record(o, r)

			if o.Interruptions != tc.want {
				t.Errorf("%s\nRecord(...): want %d interruptions, got %d", tc.reason, tc.want, o.Interruptions)
			}
		})
	}
}

// TestInterruptedAnew edits an object whose runs were interrupted: the pause after its next one is the shortest.
func TestInterruptedAnew(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, digest string
		want           int64
	}{
		"Same":   {"Runs with the same inputs go on being counted.", "a", 9},
		"Edited": {"Those with other inputs have nothing to do with it.", "b", 1},
	} {
		t.Run(name, func(t *testing.T) {
			o := &common.AnsibleRunObservation{Interruptions: 8, LastRun: &common.Run{ID: "1", InputsDigest: "a"}}
			r := runs.Report{Attempt: 1, Untouched: true, Run: common.Run{
				ID: "2", Mode: common.ModeCheck, State: common.StatePresent, Phase: common.PhaseQueued, InputsDigest: tc.digest, StartTime: at(0),
			}}

			// Its start is shown, and the provider ends.
			Record(o, r)
			Interrupt(o, t0)

			if o.Interruptions != tc.want {
				t.Errorf("%s\nInterrupt(...): want %d interruptions, got %d", tc.reason, tc.want, o.Interruptions)
			}
		})
	}
}
