package telemetry

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

// Bounds of what content measures: metrics of an AnsibleRun, of all AnsibleRuns of a tenant, and of all.
const (
	maxOfObject = 20
	maxOfTenant = 500
	maxMeasured = 5000
	// maxGone are AnsibleRuns that are gone, and whose runs may still be ending.
	maxGone = 1000
)

// Measurements are what content measures. The names that content gives are values of a label, so that they
// meet neither the provider's nor those of others, whatever type these have.
type Measurements struct {
	total, gauge, histogram, summary, dropped *prometheus.Desc

	now func() time.Time

	mu      sync.Mutex
	tenants map[string]map[objectName]*measuredObject
	// gone has the uids of the AnsibleRuns that were deleted last.
	gone    *lru.Cache
	metrics int
	drops   float64
}

var _ Observer = &Measurements{}

// An objectName identifies an AnsibleRun.
type objectName struct{ namespace, name string }

// A measuredObject is an AnsibleRun whose content has measured something.
type measuredObject struct {
	uid     types.UID
	last    time.Time
	metrics map[string]*measurement
}

// A measurement is the state of one metric.
type measurement struct {
	kind events.MetricType
	// value of a counter and a gauge; the sum of a histogram and a summary.
	value float64
	count uint64
	// buckets of a histogram: how many values are less than or equal to each bound.
	buckets map[float64]uint64
}

// NewMeasurements returns an observer that collects what content measures.
func NewMeasurements() *Measurements {
	labels := []string{"namespace", "name", "metric"}
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
	}

	return &Measurements{
		total: desc("measured_total", "Counters of content, by the AnsibleRun and the name that the content gives."),
		gauge: desc("measured", "Gauges of content, by the AnsibleRun and the name that the content gives."),
		histogram: desc("measured_histogram",
			"Histograms of content, by the AnsibleRun and the name that the content gives."),
		summary: desc("measured_summary", "Summaries of content, by the AnsibleRun and the name that the content gives."),
		dropped: prometheus.NewDesc(prometheus.BuildFQName(namespace, "", "measured_dropped_total"),
			"What content has measured and was dropped: there are too many metrics, or one has another type.", nil, nil),
		now: time.Now, tenants: map[string]map[objectName]*measuredObject{}, gone: lru.New(maxGone),
	}
}

// Started is of no interest.
func (m *Measurements) Started(executor.Job) {}

// TaskEnded takes what a task has measured.
func (m *Measurements) TaskEnded(j executor.Job, t events.TaskResult) {
	if len(t.Metrics) == 0 {
		return
	}

	m.mu.Lock()
	defer m.mu.Unlock()

	if _, gone := m.gone.Get(j.Object.UID); gone {
		return
	}

	tenant, name := j.Object.Tenant(), objectName{j.Object.Namespace, j.Object.Name}

	// Another one had the same name.
	if o := m.tenants[tenant][name]; o != nil && o.uid != j.Object.UID {
		m.forget(tenant, name)
	}

	objects := m.tenants[tenant]
	if objects == nil {
		objects = map[objectName]*measuredObject{}
		m.tenants[tenant] = objects
	}

	o := objects[name]
	if o == nil {
		o = &measuredObject{uid: j.Object.UID, metrics: map[string]*measurement{}}
		objects[name] = o
	}

	o.last = m.now()

	for _, metric := range t.Metrics {
		m.take(tenant, o, metric)
	}

	if len(o.metrics) == 0 {
		m.forget(tenant, name)
	}
}

// Ended is of no interest.
func (m *Measurements) Ended(executor.Job, executor.Report, time.Duration) {}

// Forget an AnsibleRun that is gone, also what the rest of its run measures.
func (m *Measurements) Forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.gone.Add(uid, nil)

	for tenant, objects := range m.tenants {
		for name, o := range objects {
			if o.uid == uid {
				m.forget(tenant, name)
			}
		}
	}
}

// take a metric of an object. A new one may take the place of the object of the tenant that has measured
// nothing for the longest.
func (m *Measurements) take(tenant string, o *measuredObject, metric events.Metric) {
	is := o.metrics[metric.Name]

	switch {
	case is == nil && (len(o.metrics) >= maxOfObject || !m.room(tenant, o)), is != nil && is.kind != metric.Type:
		m.drops++
		return
	case is == nil:
		is = &measurement{kind: metric.Type, buckets: map[float64]uint64{}}
		o.metrics[strings.Clone(metric.Name)] = is
		m.metrics++
	}

	switch {
	case metric.Set:
		is.value = metric.Value
	default:
		is.value += metric.Value
	}

	is.count++

	if is.kind == events.MetricHistogram {
		for _, bound := range prometheus.DefBuckets {
			if metric.Value <= bound {
				is.buckets[bound]++
			}
		}
	}
}

// room for one more metric of a tenant's object.
func (m *Measurements) room(tenant string, o *measuredObject) bool {
	used := 0
	for _, other := range m.tenants[tenant] {
		used += len(other.metrics)
	}

	for used >= maxOfTenant || m.metrics >= maxMeasured {
		var (
			oldest objectName
			found  *measuredObject
		)

		for name, other := range m.tenants[tenant] {
			if other != o && len(other.metrics) > 0 && (found == nil || other.last.Before(found.last)) {
				oldest, found = name, other
			}
		}

		// The others' stay, also where there are too many.
		if found == nil {
			return false
		}

		used -= len(found.metrics)
		m.forget(tenant, oldest)
	}

	return true
}

// forget an object.
func (m *Measurements) forget(tenant string, name objectName) {
	if o := m.tenants[tenant][name]; o != nil {
		m.metrics -= len(o.metrics)
	}

	delete(m.tenants[tenant], name)

	if len(m.tenants[tenant]) == 0 {
		delete(m.tenants, tenant)
	}
}

// Describe the metrics.
func (m *Measurements) Describe(c chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.total, m.gauge, m.histogram, m.summary, m.dropped} {
		c <- d
	}
}

// Collect the metrics.
func (m *Measurements) Collect(c chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()

	c <- prometheus.MustNewConstMetric(m.dropped, prometheus.CounterValue, m.drops)

	for _, objects := range m.tenants {
		for name, o := range objects {
			for _, metric := range slices.Sorted(maps.Keys(o.metrics)) {
				c <- m.metric(o.metrics[metric], name.namespace, name.name, metric)
			}
		}
	}
}

// metric of a measurement.
func (m *Measurements) metric(is *measurement, labels ...string) prometheus.Metric {
	switch is.kind {
	case events.MetricGauge:
		return prometheus.MustNewConstMetric(m.gauge, prometheus.GaugeValue, is.value, labels...)
	case events.MetricHistogram:
		buckets := map[float64]uint64{}
		for _, bound := range prometheus.DefBuckets {
			buckets[bound] = is.buckets[bound]
		}

		return prometheus.MustNewConstHistogram(m.histogram, is.count, is.value, buckets, labels...)
	case events.MetricSummary:
		return prometheus.MustNewConstSummary(m.summary, is.count, is.value, nil, labels...)
	case events.MetricCounter:
	}

	return prometheus.MustNewConstMetric(m.total, prometheus.CounterValue, is.value, labels...)
}
