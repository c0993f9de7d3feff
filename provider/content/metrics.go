package content

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Results of installations.
const (
	// resultInstalled is the result of an installation of a new set.
	resultInstalled = "Installed"
	// resultUnchanged is the result of a refresh that found the same content.
	resultUnchanged = "Unchanged"
	// resultFailed is the result of a failure of ansible-galaxy or of the machine.
	resultFailed = "Failed"
	// resultCanceled is the result of an installation that no caller waits for any more.
	resultCanceled = "Canceled"
)

// Reasons for removing a set.
const (
	// removedForSpace is the reason for sets that were removed to free space.
	removedForSpace = "Space"
	// removedSuperseded is the reason for sets with a newer set of the same request.
	removedSuperseded = "Superseded"
	// removedDamaged is the reason for sets that have changed since their installation.
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

// NewMetrics returns metrics, and registers them unless r is nil.
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

// installed counts an ended installation for a run, or for a refresh if again is true.
func (m *Metrics) installed(again bool, result string, took time.Duration) {
	cause := "run"
	if again {
		cause = "refresh"
	}

	m.installs.WithLabelValues(cause, result).Inc()
	m.duration.WithLabelValues(result).Observe(took.Seconds())
}
