package telemetry

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// NewConfinementMetric returns a metric of how the kernel confines runs in the provider.
func NewConfinementMetric(k sandbox.Kernel) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace,
		Name:      "confinement",
		Help: "1 if runs in the provider are kept from files that are not theirs, by the version of Landlock, and whether " +
			"system calls are filtered (seccomp).",
		ConstLabels: prometheus.Labels{"landlock": strconv.Itoa(k.Landlock), "seccomp": strconv.FormatBool(k.Seccomp)},
	}, func() float64 { return float64(min(k.Landlock, 1)) })
}
