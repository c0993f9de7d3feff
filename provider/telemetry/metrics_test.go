package telemetry

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

func TestMetrics(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	o := NewObserver(logging.NewNopLogger(), event.NewNopRecorder(), r)

	MeasurePool(r, func() map[common.Place]pool.Stats {
		return map[common.Place]pool.Stats{common.PlaceProvider: {Urgent: 1, Patient: 2, Installing: 5, Running: 3, Limit: 4}}
	})

	execute(o, common.PhaseFailed)
	execute(o, common.PhaseFailed)

	retry := example
	retry.Trigger = common.TriggerRetry
	retry.Queued = time.Now().Add(-10 * time.Minute)
	o.Started(retry)

	forged := runs.Report{Run: applied(common.TriggerRetry, common.PhaseInterrupted)}
	forged.Run.Hosts = &common.HostTotals{OK: -1, Skipped: math.MaxInt64}
	o.Ended(retry, forged, time.Hour)

	inPod := example
	inPod.Inputs.Execution.Place = common.PlacePod
	o.Started(inPod)

	want := `
# HELP provider_ansible_queue_length Runs that wait for their content or for their turn, by queue and place.
# TYPE provider_ansible_queue_length gauge
provider_ansible_queue_length{place="Provider",queue="installing"} 5
provider_ansible_queue_length{place="Provider",queue="patient"} 2
provider_ansible_queue_length{place="Provider",queue="urgent"} 1
# HELP provider_ansible_runs_limit Runs that may be in progress at a time, by place.
# TYPE provider_ansible_runs_limit gauge
provider_ansible_runs_limit{place="Provider"} 4
# HELP provider_ansible_runs_running Runs in progress, by place.
# TYPE provider_ansible_runs_running gauge
provider_ansible_runs_running{place="Provider"} 3
# HELP provider_ansible_runs_total Runs that have ended, by the policy of their object, trigger, mode and result.
# TYPE provider_ansible_runs_total counter
provider_ansible_runs_total{mode="Apply",policy="RunOnChange",result="Failed",trigger="Created"} 2
provider_ansible_runs_total{mode="Apply",policy="RunOnChange",result="Interrupted",trigger="Retry"} 1
# HELP provider_ansible_tasks_total Tasks that have ended on a host, by result, of runs that have ended.
# TYPE provider_ansible_tasks_total counter
provider_ansible_tasks_total{result="ok"} 2
provider_ansible_tasks_total{result="skipped"} 1e+07
`

	err := testutil.GatherAndCompare(r, strings.NewReader(want),
		"provider_ansible_queue_length", "provider_ansible_runs_limit", "provider_ansible_runs_running", "provider_ansible_runs_total",
		"provider_ansible_tasks_total")
	if err != nil {
		t.Error(err)
	}

	if n, err := testutil.GatherAndCount(r, "provider_ansible_run_duration_seconds"); n != 1 || err != nil {
		t.Errorf("The duration of an interrupted run is unknown: want the duration of 1 kind of runs, got %d, %v", n, err)
	}

	if n, err := testutil.GatherAndCount(r, "provider_ansible_queue_wait_seconds"); n != 3 || err != nil {
		t.Errorf("Each queue of each place should have its own metric: want those of 3, got %d, %v", n, err)
	}

	problems, err := testutil.GatherAndLint(r)
	if err != nil || len(problems) > 0 {
		t.Errorf("Metrics should follow Prometheus's conventions: got %v, %v", problems, err)
	}
}
