package content

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Results of installations.
const (
	// resultInstalled means that there is a new set.
	resultInstalled = "Installed"
	// resultUnchanged means that what was resolved again is what was there.
	resultUnchanged = "Unchanged"
	// resultFailed means that ansible-galaxy failed, or the machine did.
	resultFailed = "Failed"
	// resultCanceled means that no caller waited for the set any more.
	resultCanceled = "Canceled"
)

// Reasons for removing a set.
const (
	// removedForSpace sets were removed to free space for others.
	removedForSpace = "Space"
	// removedSuperseded sets were followed by a newer one.
	removedSuperseded = "Superseded"
	// removedDamaged sets were not what was installed any more.
	removedDamaged = "Damaged"
)

// Metrics of a store.
type Metrics struct {
	installs *prometheus.CounterVec
	duration *prometheus.HistogramVec
	hits     prometheus.Counter
	removals *prometheus.CounterVec
	sets     prometheus.Gauge
	bytes    prometheus.Gauge
}

// NewMetrics returns metrics that are registered; nil registers none.
func NewMetrics(r prometheus.Registerer) *Metrics {
	const namespace, subsystem = "provider_ansible", "content"

	f := promauto.With(r)
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}
	}
	gauge := func(name, help string) prometheus.Gauge {
		return f.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help})
	}

	return &Metrics{
		installs: f.NewCounterVec(counter("installs_total",
			"Installations of content sets that have ended, by result, and by cause: a run that waits, or a refresh of what "+
				"is not pinned."),
			[]string{"cause", "result"}),
		duration: f.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace,
			Subsystem: subsystem,
			Name:      "install_duration_seconds",
			Help:      "Time that installations of content sets took, by result.",
			Buckets:   []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600},
		}, []string{"result"}),
		hits: f.NewCounter(counter("cache_hits_total", "Content sets that were wanted and were there already.")),
		removals: f.NewCounterVec(
			counter("evictions_total", "Content sets that were removed from the store, by reason."), []string{"reason"}),
		sets:  gauge("sets", "Content sets in the store."),
		bytes: gauge("store_bytes", "Size of the content store."),
	}
}

// installed counts an installation that has ended, for a caller or, again, for a refresh.
func (m *Metrics) installed(again bool, result string, took time.Duration) {
	cause := "run"
	if again {
		cause = "refresh"
	}

	m.installs.WithLabelValues(cause, result).Inc()
	m.duration.WithLabelValues(result).Observe(took.Seconds())
}
