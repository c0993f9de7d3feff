package telemetry

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/job"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
)

func TestMetrics(t *testing.T) {
	m := NewMetrics()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(m, NewPoolMetrics(func() pool.Stats { return pool.Stats{Urgent: 1, Patient: 2, Running: 3, Limit: 4} }))

	execute(t, m, common.PhaseFailed)
	execute(t, m, common.PhaseFailed)

	retry := example
	retry.Trigger = common.TriggerRetry
	retry.Queued = time.Now().Add(-10 * time.Minute)
	m.Began(retry)
	m.Ended(retry, job.Report{Run: applied(common.TriggerRetry, common.PhaseInterrupted)}, time.Hour)

	want := `
# HELP provider_ansible_queue_length Runs that wait for their turn, by queue.
# TYPE provider_ansible_queue_length gauge
provider_ansible_queue_length{queue="patient"} 2
provider_ansible_queue_length{queue="urgent"} 1
# HELP provider_ansible_runs_limit Runs that may be in progress at a time.
# TYPE provider_ansible_runs_limit gauge
provider_ansible_runs_limit 4
# HELP provider_ansible_runs_running Runs in progress.
# TYPE provider_ansible_runs_running gauge
provider_ansible_runs_running 3
# HELP provider_ansible_runs_total Runs that have ended, by the policy of their object, trigger, mode and result.
# TYPE provider_ansible_runs_total counter
provider_ansible_runs_total{mode="Apply",policy="RunOnChange",result="Failed",trigger="Created"} 2
provider_ansible_runs_total{mode="Apply",policy="RunOnChange",result="Interrupted",trigger="Retry"} 1
# HELP provider_ansible_tasks_total Tasks that have ended on a host, by result.
# TYPE provider_ansible_tasks_total counter
provider_ansible_tasks_total{result="failed"} 2
`

	err := testutil.GatherAndCompare(r, strings.NewReader(want),
		"provider_ansible_queue_length", "provider_ansible_runs_limit", "provider_ansible_runs_running", "provider_ansible_runs_total",
		"provider_ansible_tasks_total")
	if err != nil {
		t.Error(err)
	}

	if n, err := testutil.GatherAndCount(r, "provider_ansible_run_duration_seconds"); n != 1 || err != nil {
		t.Errorf("The time that an interrupted run took is not known: want the duration of 1 kind of runs, got %d, %v", n, err)
	}

	problems, err := testutil.GatherAndLint(r)
	if err != nil || len(problems) > 0 {
		t.Errorf("Metrics should follow Prometheus's conventions: got %v, %v", problems, err)
	}
}
