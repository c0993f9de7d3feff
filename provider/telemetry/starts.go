package telemetry

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Starts are metrics of how runs in the provider start.
type Starts struct {
	collectors

	total *prometheus.CounterVec
}

// NewStarts returns metrics that count.
func NewStarts() *Starts {
	m := &Starts{total: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace,
		Name:      "starts_total",
		Help: "Starts of ansible-playbook in the provider: warm, in a process that had imported Ansible before, or " +
			"cold, and why.",
	}, []string{"start", "reason"})}
	m.collectors = collectors{m.total}

	return m
}

// Started counts a start: warm, or cold for a reason, of which the first word counts.
func (m *Starts) Started(cold string) {
	if cold == "" {
		m.total.WithLabelValues("warm", "").Inc()

		return
	}

	// A play can make up an event that says why.
	reason, _, _ := strings.Cut(cold, " ")
	if !slices.Contains([]string{"off", "starting", "failed", "memory", "setting", "variable"}, reason) {
		reason = "other"
	}

	m.total.WithLabelValues("cold", reason).Inc()
}
