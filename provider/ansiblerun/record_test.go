package ansiblerun

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/job"
)

func TestRecordExecuted(t *testing.T) {
	report := func(phase common.RunPhase, os ...func(*job.Report)) job.Report {
		r := job.Report{Run: common.Run{ID: "1", Mode: common.ModeApply, State: common.StatePresent, Phase: phase, StartTime: at(0)}, Attempt: 1}
		for _, o := range os {
			o(&r)
		}

		return r
	}
	installed := func(r *job.Report) { r.Content = &common.Content{} }
	told := func(r *job.Report) { r.Run.Hosts = &common.HostTotals{} }
	untouched := func(r *job.Report) { r.Untouched = true }

	cases := map[string]struct {
		reason  string
		reports []job.Report
		want    bool
	}{
		"NotInstalled": {
			reason:  "Content that could not be installed has changed nothing.",
			reports: []job.Report{report(common.PhaseInstalling, untouched), report(common.PhaseFailed, untouched)},
		},
		"Untouched": {
			reason:  "Nor has content that could not be loaded, or found no host, though the run is said to be running.",
			reports: []job.Report{report(common.PhaseRunning, installed, told, untouched), report(common.PhaseFailed, installed, told, untouched)},
		},
		"Told": {
			reason:  "A run that has told something may have changed something.",
			reports: []job.Report{report(common.PhaseRunning, installed, told)},
			want:    true,
		},
		"Failed": {
			reason:  "A run that failed may have changed something, whatever it has told.",
			reports: []job.Report{report(common.PhaseRunning, installed), report(common.PhaseFailed, installed)},
			want:    true,
		},
		"Unheard": {
			reason: "A run whose end nobody heard of, before the next one began, may have changed something.",
			reports: []job.Report{report(common.PhaseRunning, installed), report(common.PhaseFailed, installed, func(r *job.Report) {
				r.Run.ID, r.Run.Mode = "2", common.ModeCheck
			})},
			want: true,
		},
		"Stays": {
			reason:  "What an earlier run may have changed is still there when a later one does nothing.",
			reports: []job.Report{report(common.PhaseFailed, installed), report(common.PhaseFailed, installed, untouched)},
			want:    true,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &common.AnsibleRunObservation{}
			for _, r := range tc.reports {
				record(o, r)
			}

			if o.Executed != tc.want {
				t.Errorf("\n%s\nrecord(...): want executed %t, got %t", tc.reason, tc.want, o.Executed)
			}
		})
	}
}

// A run that never began, and that nobody noted, leaves what is known of the last
// apply as it was.
func TestRecordNotBegun(t *testing.T) {
	notBegun := job.Report{Attempt: 1, Untouched: true, Run: common.Run{
		ID: "2", Mode: common.ModeApply, State: common.StatePresent, Phase: common.PhaseCanceled, Reason: job.ReasonNotStarted, StartTime: at(0), CompletionTime: at(time.Minute),
	}}
	applied := common.AnsibleRunObservation{
		LastApply:     &common.Apply{ID: "1", State: common.StatePresent, Result: common.PhaseSucceeded, Attempts: 1, CompletionTime: at(0)},
		AppliedDigest: "d", Executed: true,
	}
	noted := common.AnsibleRunObservation{LastApply: &common.Apply{ID: "2", State: common.StatePresent, Attempts: 2}}

	for name, tc := range map[string]struct {
		reason string
		before common.AnsibleRunObservation
		want   *common.Apply
	}{
		"Applied": {reason: "An object that was applied is applied still.", before: applied, want: applied.LastApply.DeepCopy()},
		"Unknown": {reason: "An apply that may have been lost is not known to have had no effect."},
		"Noted": {
			reason: "One that was noted is over, and was no attempt.", before: noted,
			want: &common.Apply{ID: "2", State: common.StatePresent, Result: common.PhaseCanceled, CompletionTime: at(time.Minute), NextRetryTime: at(time.Minute + firstBackoff)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := tc.before
			record(&o, notBegun)

			if diff := cmp.Diff(tc.want, o.LastApply); diff != "" {
				t.Errorf("\n%s\nrecord(...): -want last apply, +got last apply:\n%s", tc.reason, diff)
			}

			if o.LastRun == nil || o.LastRun.ID != "2" {
				t.Errorf("\n%s\nrecord(...): want the run to be shown, got %+v", tc.reason, o.LastRun)
			}
		})
	}
}

func TestInterruptedIsExecuted(t *testing.T) {
	o := &common.AnsibleRunObservation{}
	record(o, job.Report{
		Run:     common.Run{ID: "1", Mode: common.ModeApply, State: common.StatePresent, Phase: common.PhaseRunning, StartTime: at(0)},
		Content: &common.Content{},
	})

	if !interrupt(o, t0) || !o.Executed {
		t.Errorf("A run whose end nobody heard of may have changed something, got %+v", o)
	}
}
