package content

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Results of installations, as the label result has them.
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

// Reasons for removing a set, as the label reason has them.
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

// NewMetrics returns metrics, and registers them where there is a registry.
func NewMetrics(r prometheus.Registerer) *Metrics {
	f := promauto.With(r)
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "provider_ansible", Subsystem: "content", Name: name, Help: help}
	}

	return &Metrics{
		installs: f.NewCounterVec(prometheus.CounterOpts(opts("installs_total",
			"Installations of content sets that have ended, by result, and by cause: a run that waits, or a refresh of what "+
				"is not pinned.")), []string{"cause", "result"}),
		duration: f.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "provider_ansible",
			Subsystem: "content",
			Name:      "install_duration_seconds",
			Help:      "Time that installations of content sets took, by result.",
			Buckets:   []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600},
		}, []string{"result"}),
		hits: f.NewCounter(prometheus.CounterOpts(opts("cache_hits_total",
			"Content sets that were wanted and were there already."))),
		removals: f.NewCounterVec(prometheus.CounterOpts(opts("evictions_total",
			"Content sets that were removed from the store, by reason.")), []string{"reason"}),
		sets:  f.NewGauge(prometheus.GaugeOpts(opts("sets", "Content sets in the store."))),
		bytes: f.NewGauge(prometheus.GaugeOpts(opts("store_bytes", "Size of the content store."))),
	}
}

// resultOf returns the result of an installation that has not succeeded by its error.
func resultOf(ctx context.Context, err error) string {
	// One that was too slow has failed.
	if !errors.Is(err, context.DeadlineExceeded) && (ctx.Err() != nil || errors.Is(err, context.Canceled)) {
		return resultCanceled
	}

	return resultFailed
}
