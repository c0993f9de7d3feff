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

// TestRecordOperator records what content of Ansible operators says.
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
		"Asked":   {"A run that succeeds says when the next one follows.", nil, run(common.ModeApply, common.StatePresent, common.PhaseSucceeded, time.Minute, `{"a":1}`), &later, `{"a":1}`},
		"Not":     {"One that does not say leaves it to the poll.", &before, run(common.ModeApply, common.StatePresent, common.PhaseSucceeded, 0, ""), nil, `{}`},
		"Failed":  {"One that fails is retried; what it has set of the status stays.", nil, run(common.ModeApply, common.StatePresent, common.PhaseFailed, time.Minute, `{"a":1}`), nil, `{"a":1}`},
		"Absent":  {"Nothing follows a deletion.", nil, run(common.ModeApply, common.StateAbsent, common.PhaseSucceeded, time.Minute, `{"a":1}`), nil, `{"a":1}`},
		"Checked": {"A check was what the content has asked for.", &before, run(common.ModeCheck, common.StatePresent, common.PhaseSucceeded, 0, `{"a":1}`), nil, `{}`},
		"Earlier": {"An earlier check was not.", &later, run(common.ModeCheck, common.StatePresent, common.PhaseSucceeded, 0, ""), &later, `{}`},
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
