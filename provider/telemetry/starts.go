package telemetry

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// CountStarts returns a function that counts how runs in the provider start: warm, or cold for a reason, of which the
// first word counts.
func CountStarts(r prometheus.Registerer) func(cold string) {
	total := promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace,
		Name:      "starts_total",
		Help: "Starts of ansible-playbook in the provider: warm, in a process that had imported Ansible before, or " +
			"cold, and why.",
	}, []string{"start", "reason"})

	return func(cold string) {
		if cold == "" {
			total.WithLabelValues("warm", "").Inc()

			return
		}

		// A play can make up an event that says why.
		reason, _, _ := strings.Cut(cold, " ")
		if !slices.Contains([]string{"off", "starting", "failed", "setting", "variable"}, reason) {
			reason = "other"
		}

		total.WithLabelValues("cold", reason).Inc()
	}
}
