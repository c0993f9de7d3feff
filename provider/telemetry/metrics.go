package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// namespace is the prefix of the names of all metrics.
const namespace = "provider_ansible"

// labelResult is the result of a run or a task, and labelPlace the place of a run.
const (
	labelResult = "result"
	labelPlace  = "place"
)

// Queues of the pool, as values of the label queue.
const (
	queueUrgent  = "urgent"
	queuePatient = "patient"
)

// maxTasks bounds the counted tasks of a run. It is more than any run has.
const maxTasks = 10_000_000

// metrics of runs. All labels have bounded values.
type metrics struct {
	runs     *prometheus.CounterVec
	duration *prometheus.HistogramVec
	wait     *prometheus.HistogramVec
	tasks    *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)

	return &metrics{
		runs: f.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace,
			Name:      "runs_total",
			Help:      "Runs that have ended, by the policy of their object, trigger, mode and result.",
		}, []string{"policy", "trigger", "mode", labelResult}),
		duration: f.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace,
			Name:      "run_duration_seconds",
			Help: "Time that runs took, without their time in the queue; in the provider without the installation of " +
				"their content, in a Pod with it and with the time in which the Pod waited to start.",
			Buckets: []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600},
		}, []string{"mode", labelResult}),
		wait: f.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace,
			Name:      "queue_wait_seconds",
			Help:      "Time that runs waited for their turn, by queue and place.",
			Buckets:   []float64{0.01, 0.1, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600},
		}, []string{"queue", labelPlace}),
		tasks: f.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace,
			Name:      "tasks_total",
			Help:      "Tasks that have ended on a host, by result, of runs that have ended.",
		}, []string{labelResult}),
	}
}

// started observes the time that a run has waited.
func (m *metrics) started(run runs.Run) {
	queue := queuePatient
	if run.Class() == runs.Urgent {
		queue = queueUrgent
	}

	m.wait.WithLabelValues(queue, string(run.Place())).Observe(time.Since(run.Queued).Seconds())
}

// ended counts a run, and observes its duration.
func (m *metrics) ended(run runs.Run, r runs.Report, took time.Duration) {
	mode, result := string(r.Run.Mode), string(r.Run.Phase)

	m.runs.WithLabelValues(string(run.Policy), string(r.Run.Trigger), mode, result).Inc()

	// The duration of an interrupted run is unknown: its end is noticed when the provider is back.
	if r.Run.Phase != common.PhaseInterrupted {
		m.duration.WithLabelValues(mode, result).Observe(took.Seconds())
	}

	h := r.Run.Hosts
	if h == nil {
		return
	}

	for outcome, n := range map[string]int64{
		"ok": h.OK - h.Changed - h.Ignored, "changed": h.Changed, "failed": h.Failed + h.Rescued, "ignored": h.Ignored,
		"skipped": h.Skipped, "unreachable": h.Unreachable,
	} {
		// The report of a Pod may have any number.
		if n > 0 {
			m.tasks.WithLabelValues(outcome).Add(float64(min(n, maxTasks)))
		}
	}
}

// MeasurePool registers gauges for each place of a pool. Their values are computed when they are scraped.
func MeasurePool(r prometheus.Registerer, stats func() map[common.Place]pool.Stats) {
	f := promauto.With(r)

	for place := range stats() {
		gauge := func(name, help string, labels prometheus.Labels, of func(pool.Stats) int) {
			labels[labelPlace] = string(place)

			f.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help, ConstLabels: labels},
				func() float64 { return float64(of(stats()[place])) })
		}
		length := func(queue string, of func(pool.Stats) int) {
			gauge("queue_length", "Runs that wait for their content or for their turn, by queue and place.",
				prometheus.Labels{"queue": queue}, of)
		}

		length(queueUrgent, func(s pool.Stats) int { return s.Urgent })
		length(queuePatient, func(s pool.Stats) int { return s.Patient })
		length("installing", func(s pool.Stats) int { return s.Installing })
		gauge("runs_running", "Runs in progress, by place.", prometheus.Labels{}, func(s pool.Stats) int { return s.Running })
		gauge("runs_limit", "Runs that may be in progress at a time, by place.", prometheus.Labels{},
			func(s pool.Stats) int { return s.Limit })
	}
}
