package telemetry

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// CountStarts returns a function that counts the starts of runs in the provider. The reason of a cold start is the
// first word of the argument, which is empty for a warm start.
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

		// The reason comes from an event that a play can forge.
		reason, _, _ := strings.Cut(cold, " ")
		if !slices.Contains([]string{"off", "starting", "failed", "setting", "variable"}, reason) {
			reason = "other"
		}

		total.WithLabelValues("cold", reason).Inc()
	}
}
