package lifecycle

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// TestRecordOperator records reports of content of Ansible operators.
func TestRecordOperator(t *testing.T) {
	end := metav1.NewTime(t0)
	before := metav1.NewTime(t0.Add(-time.Second))
	later := metav1.NewTime(t0.Add(time.Minute))
	run := func(mode common.RunMode, state common.RunState, phase common.RunPhase, requeue time.Duration, status string) runs.Report {
		r := runs.Report{Run: common.Run{ID: "2", Mode: mode, State: state, Phase: phase, StartTime: &end, CompletionTime: &end}, Requeue: requeue, Attempt: 1}
		if status != "" {
			r.Reported = events.Report{Status: json.RawMessage(status)}
		}

		return r
	}

	for name, tc := range map[string]struct {
		reason string
		was    *metav1.Time
		report runs.Report
		next   *metav1.Time
		status string
	}{
		"Asked":   {"A successful run requests the next one.", nil, run(common.ModeApply, common.StatePresent, common.PhaseSucceeded, time.Minute, `{"a":1}`), &later, `{"a":1}`},
		"Not":     {"A successful run without a request clears the earlier one.", &before, run(common.ModeApply, common.StatePresent, common.PhaseSucceeded, 0, ""), nil, `{}`},
		"Failed":  {"A failed run is retried, and its changes of the status stay.", nil, run(common.ModeApply, common.StatePresent, common.PhaseFailed, time.Minute, `{"a":1}`), nil, `{"a":1}`},
		"Absent":  {"A deletion requests no run.", nil, run(common.ModeApply, common.StateAbsent, common.PhaseSucceeded, time.Minute, `{"a":1}`), nil, `{"a":1}`},
		"Checked": {"A check counts as the requested run.", &before, run(common.ModeCheck, common.StatePresent, common.PhaseSucceeded, 0, `{"a":1}`), nil, `{}`},
		"Earlier": {"A check before the requested time does not count.", &later, run(common.ModeCheck, common.StatePresent, common.PhaseSucceeded, 0, ""), &later, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			o := common.AnsibleRunObservation{NextRunTime: tc.was}
			Record(&o, tc.report)

			if diff := cmp.Diff(tc.next, o.NextRunTime); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}

			got := "{}"
			if o.Reported != nil {
				got = string(o.Reported.Raw)
			}

			if diff := cmp.Diff(tc.status, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
