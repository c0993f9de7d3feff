package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// jobOf an AnsibleRun.
func jobOf(namespace, name string) executor.Job {
	return executor.Job{Spec: runner.Spec{Object: runner.Object{Namespace: namespace, Name: name, UID: types.UID("uid of " + namespace + "/" + name)}}}
}

func counter(name string, value float64) events.TaskResult {
	return events.TaskResult{Metrics: []events.Metric{{Name: name, Type: events.MetricCounter, Value: value}}}
}

func TestMeasurements(t *testing.T) {
	m := NewMeasurements()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(m)

	a, b := jobOf("team-a", "site"), jobOf("team-b", "site")
	m.TaskEnded(a, counter("jobs", 1))
	m.TaskEnded(a, counter("jobs", 2))
	m.TaskEnded(a, counter("provider_ansible_runs_total", 7))
	m.TaskEnded(b, events.TaskResult{Metrics: []events.Metric{
		{Name: "jobs", Type: events.MetricGauge, Set: true, Value: 5},
		{Name: "jobs", Type: events.MetricGauge, Value: -1},
		{Name: "jobs", Type: events.MetricCounter, Value: 1}, // It is a gauge.
		{Name: "took", Type: events.MetricHistogram, Value: 0.3},
		{Name: "size", Type: events.MetricSummary, Value: 4},
	}})

	gone := jobOf("team-a", "gone")
	m.TaskEnded(gone, counter("jobs", 1))
	m.Forget(gone.Object.UID)
	m.TaskEnded(gone, counter("jobs", 1)) // Its run was still ending.

	// Another object of the same name begins anew.
	replaced := jobOf("team-a", "replaced")
	m.TaskEnded(replaced, counter("jobs", 1))
	m.TaskEnded(replaced, counter("other", 1))

	replaced.Object.UID = "uid of another one"
	m.TaskEnded(replaced, counter("jobs", 5))

	want := `
# HELP provider_ansible_measured Gauges of content, by the AnsibleRun and the name that the content gives.
# TYPE provider_ansible_measured gauge
provider_ansible_measured{metric="jobs",name="site",namespace="team-b"} 4
# HELP provider_ansible_measured_dropped_total What content has measured and was dropped: there are too many metrics, or one has another type.
# TYPE provider_ansible_measured_dropped_total counter
provider_ansible_measured_dropped_total 1
# HELP provider_ansible_measured_summary Summaries of content, by the AnsibleRun and the name that the content gives.
# TYPE provider_ansible_measured_summary summary
provider_ansible_measured_summary_sum{metric="size",name="site",namespace="team-b"} 4
provider_ansible_measured_summary_count{metric="size",name="site",namespace="team-b"} 1
# HELP provider_ansible_measured_total Counters of content, by the AnsibleRun and the name that the content gives.
# TYPE provider_ansible_measured_total counter
provider_ansible_measured_total{metric="jobs",name="replaced",namespace="team-a"} 5
provider_ansible_measured_total{metric="jobs",name="site",namespace="team-a"} 3
provider_ansible_measured_total{metric="provider_ansible_runs_total",name="site",namespace="team-a"} 7
`
	names := []string{"provider_ansible_measured", "provider_ansible_measured_total", "provider_ansible_measured_summary", "provider_ansible_measured_dropped_total"}
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}

	if n, err := testutil.GatherAndCount(r, "provider_ansible_measured_histogram"); err != nil || n != 1 {
		t.Errorf("want a histogram, got %d, %v", n, err)
	}
}

// No tenant takes the place of the metrics of others, nor more memory than there is for it.
func TestMeasurementsBounds(t *testing.T) {
	m := NewMeasurements()
	now := time.Now()
	m.now = func() time.Time { now = now.Add(time.Second); return now }

	for i := range maxOfObject + 5 {
		m.TaskEnded(jobOf("victim", "site"), counter(fmt.Sprint("metric", i), 1))
	}

	if got := len(m.tenants["victim"][objectName{"victim", "site"}].metrics); got != maxOfObject || m.drops != 5 {
		t.Errorf("An AnsibleRun should have %d metrics, got %d, and %f were dropped", maxOfObject, got, m.drops)
	}

	flood := func(tenant string) (last objectName) {
		for i := range 2 * maxOfTenant / maxOfObject {
			last = objectName{tenant, fmt.Sprint("site", i)}
			for n := range maxOfObject {
				m.TaskEnded(jobOf(last.namespace, last.name), counter(fmt.Sprint("metric", n), 1))
			}
		}

		return last
	}

	last := flood("flood")
	if got := len(m.tenants["flood"]); got != maxOfTenant/maxOfObject || m.tenants["flood"][last] == nil {
		t.Errorf("A tenant should have the last %d AnsibleRuns, got %d", maxOfTenant/maxOfObject, got)
	}

	for i := range 2 * maxMeasured / maxOfTenant {
		flood(fmt.Sprint("flood", i))
	}

	if m.metrics > maxMeasured || len(m.tenants["victim"]) != 1 {
		t.Errorf("want %d metrics at most, and those of the victim among them, got %d", maxMeasured, m.metrics)
	}
}
