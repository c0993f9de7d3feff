package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
)

// Causes of installations, as the label cause has them.
const (
	causeRun     = "run"
	causeRefresh = "refresh"
)

// ContentMetrics are metrics of the content store. They are its Observer.
type ContentMetrics struct {
	installs *prometheus.CounterVec
	duration *prometheus.HistogramVec
	hits     prometheus.Counter
	removals *prometheus.CounterVec
	sets     prometheus.Gauge
	bytes    prometheus.Gauge
}

// NewContentMetrics returns an observer that counts.
func NewContentMetrics(r prometheus.Registerer) *ContentMetrics {
	f := promauto.With(r)
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: namespace, Subsystem: "content", Name: name, Help: help}
	}
	gauge := func(name, help string) prometheus.Gauge {
		return f.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Subsystem: "content", Name: name, Help: help})
	}

	return &ContentMetrics{
		installs: f.NewCounterVec(counter("installs_total",
			"Installations of content sets that have ended, by result, and by cause: a run that waits, or a refresh of what "+
				"is not pinned."),
			[]string{"cause", labelResult}),
		duration: f.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace,
			Subsystem: "content",
			Name:      "install_duration_seconds",
			Help:      "Time that installations of content sets took, by result.",
			Buckets:   []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600},
		}, []string{labelResult}),
		hits: f.NewCounter(counter("cache_hits_total", "Content sets that were wanted and were there already.")),
		removals: f.NewCounterVec(
			counter("evictions_total", "Content sets that were removed from the store, by reason."), []string{"reason"}),
		sets:  gauge("sets", "Content sets in the store."),
		bytes: gauge("store_bytes", "Size of the content store."),
	}
}

// Installed counts an installation.
func (m *ContentMetrics) Installed(i content.Installation) {
	cause := causeRun
	if i.Again {
		cause = causeRefresh
	}

	m.installs.WithLabelValues(cause, string(i.Result)).Inc()
	m.duration.WithLabelValues(string(i.Result)).Observe(i.Took.Seconds())
}

// Found counts a set that was there already.
func (m *ContentMetrics) Found() { m.hits.Inc() }

// Removed counts a set that was removed.
func (m *ContentMetrics) Removed(r content.Removal) { m.removals.WithLabelValues(string(r)).Inc() }

// Stored notes the size of the store.
func (m *ContentMetrics) Stored(sets int, bytes int64) {
	m.sets.Set(float64(sets))
	m.bytes.Set(float64(bytes))
}
