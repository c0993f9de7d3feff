package lifecycle

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

const askedCheck = common.PreviewRequest + "1"

func preview(phase common.RunPhase, before *common.Run, os ...func(*runs.Report)) runs.Report {
	r := runs.Report{
		Run: common.Run{ID: "p", Mode: common.ModeCheck, State: common.StatePresent, Trigger: common.TriggerPreview, Phase: phase, InputsDigest: digestB, StartTime: at(0)},
		// The values that other runs record.
		Request: askedCheck, Before: before, Content: &common.Content{Digest: "x"}, Blameless: true,
		Dependents: []common.DependentKind{{Kind: "Secret"}}, Changed: []common.DriftTask{{Task: "Install", Diff: "+a"}},
	}
	if phase.Finished() {
		r.Run.Hosts, r.Run.CompletionTime = &common.HostTotals{Changed: 1}, at(1)
	}

	for _, o := range os {
		o(&r)
	}

	return r
}

// TestRecordPreview has previews that end in several ways. Only the preview is recorded.
func TestRecordPreview(t *testing.T) {
	before := given(applied(digestA)).Recorded
	before.LastRun = &common.Run{ID: "1", Mode: common.ModeCheck, Phase: common.PhaseSucceeded, InputsDigest: digestA}
	before.Drift = &common.Drift{Changed: 3}
	before.NextRunTime, before.Interruptions, before.HandledRequest = at(-5), 2, "0"

	drift := &common.Drift{Changed: 1, Tasks: []common.DriftTask{{Task: "Install", Diff: "+a"}}}

	// ends records the report of the end several times.
	ends := func(phase common.RunPhase, os ...func(*runs.Report)) func(*common.AnsibleRunObservation) {
		return func(o *common.AnsibleRunObservation) {
			Record(o, preview(phase, before.LastRun, os...))
			Record(o, preview(phase, before.LastRun, os...))
		}
	}
	notStarted := func(r *runs.Report) { r.Run.Reason = runs.ReasonNotStarted }
	lost := func(waits bool) func(o *common.AnsibleRunObservation) {
		return func(o *common.AnsibleRunObservation) {
			r := runs.Report{Run: *o.LastRun, Waits: waits}
			Record(o, r.Interrupted(t0))
		}
	}
	attached := func(r *runs.Report) { r.Request, r.Before = "", nil }

	for name, tc := range map[string]struct {
		reason  string
		end     func(o *common.AnsibleRunObservation)
		handled string
		phase   common.RunPhase
		drift   *common.Drift
	}{
		"Succeeded":   {"The result of the preview should be recorded.", ends(common.PhaseSucceeded), askedCheck, common.PhaseSucceeded, drift},
		"Failed":      {"A failed preview has no drift.", ends(common.PhaseFailed), askedCheck, common.PhaseFailed, nil},
		"NotStarted":  {"A preview that did not begin answers no request.", ends(common.PhaseCanceled, notStarted), "0", common.PhaseCanceled, nil},
		"Interrupted": {"A preview that ended with the provider should not be tried again.", lost(false), askedCheck, common.PhaseInterrupted, nil},
		"Dropped":     {"A preview that waited at the end of the provider should be tried again.", lost(true), "0", common.PhaseInterrupted, nil},
		"Attached":    {"The next provider should find the previous run in the status.", ends(common.PhaseSucceeded, attached), askedCheck, common.PhaseSucceeded, drift},
	} {
		t.Run(name, func(t *testing.T) {
			got := before.DeepCopy()
			Record(got, preview(common.PhaseQueued, before.LastRun))
			Record(got, preview(common.PhaseRunning, before.LastRun))

			if got.LastRun.ID != "p" {
				t.Errorf("The preview should be shown while it is in progress, not %+v", got.LastRun)
			}

			tc.end(got)
			Remember(got, common.DefaultHistoryLimit)

			if p := got.Preview; p == nil || p.Phase != tc.phase || p.Replaced != nil {
				t.Fatalf("%s\nPreview: got %+v", tc.reason, p)
			}

			if diff := cmp.Diff(tc.drift, got.Preview.Drift); diff != "" {
				t.Errorf("%s\nDrift: -want, +got:\n%s", tc.reason, diff)
			}

			want := before.DeepCopy()
			want.Preview, want.HandledRequest = got.Preview, tc.handled
			want.History = got.History

			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\nThe rest: -want, +got:\n%s", tc.reason, diff)
			}

			for _, h := range got.History {
				if h.ID == "p" {
					t.Errorf("The history should not have a preview.")
				}
			}
		})
	}
}

// TestDecidePreview has requests for previews, which take precedence over other runs.
func TestDecidePreview(t *testing.T) {
	asked := func(s *Situation) { s.Request = askedCheck }

	for _, p := range []common.RunPolicy{common.ObserveAndDelete, common.CheckWhenObserve, common.RunOnChange} {
		for name, s := range map[string]Situation{
			"New":       given(asked),
			"Applied":   given(applied(digestA), asked),
			"Changed":   given(applied(digestB), asked),
			"Failed":    given(lastFailed(common.StatePresent, digestA, 1, common.PhaseFailed), asked),
			"Forbidden": given(asked, func(s *Situation) { s.Create, s.Update = false, false }),
			"Approval":  given(asked, func(s *Situation) { s.Approvals = Approvals{Required: true} }),
		} {
			s.Policy = p

			if got := Decide(s).Start; got == nil || got.Mode != common.ModeCheck || got.Trigger != common.TriggerPreview {
				t.Errorf("%s, %s: a preview should be started, not %+v", p, name, got)
			}

			s.Recorded.HandledRequest = askedCheck
			without := s
			without.Request, without.Recorded.HandledRequest = "", ""

			if diff := cmp.Diff(Decide(without), Decide(s), cmp.Comparer(func(a, b error) bool { return (a == nil) == (b == nil) })); diff != "" {
				t.Errorf("%s, %s: the preview should not change the next decision: -want, +got:\n%s", p, name, diff)
			}
		}
	}

	s := given(applied(digestA), asked)
	s.Deleted = true

	if got := Decide(s).Start; got == nil || got.State != common.StateAbsent || got.Mode != common.ModeApply {
		t.Errorf("A deletion should not wait for a preview, got %+v", got)
	}

	s.Recorded.LastApply = &common.Apply{State: common.StateAbsent, InputsDigest: "", Result: common.PhaseFailed, Attempts: 1, NextRetryTime: at(0)}
	if got := Decide(s).Start; got == nil || got.Trigger == common.TriggerRequested {
		t.Errorf("A request for a preview should not repeat a deletion run, got %+v", got)
	}
}
