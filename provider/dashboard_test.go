package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/statemetrics"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/telemetry"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// inPromQL matches a metric in an expression: each has the label job, or namespace, and names of functions have none.
var inPromQL = regexp.MustCompile(`([a-zA-Z_:]+)\{`)

// TestMetricsAreKnown tests that the dashboard, the alerts and the documentation use metrics of the provider. The
// provider's own metrics must all be in the dashboard and in the documentation.
func TestMetricsAreKnown(t *testing.T) {
	known := metricNames(t)

	for file, tc := range map[string]struct {
		// each begins a part about a metric, and metric matches its name.
		each   string
		metric *regexp.Regexp
		all    bool
	}{
		"../docs/dashboard.json":             {`"targets": [`, inPromQL, true},
		"../docs/observability.md":           {"## Metrics\n", regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (?:counter|gauge|histogram|summary) "), true},
		"../examples/operations/alerts.yaml": {"alert: ", inPromQL, false},
	} {
		all := strings.Split(needs.Read(t, file), tc.each)
		has := map[string]bool{}

		for _, text := range all[1:] {
			found := tc.metric.FindAllStringSubmatch(text, -1)
			if found == nil {
				t.Errorf("%s: this should be about a metric: %s", file, text)
			}

			for _, m := range found {
				name := strings.TrimSuffix(m[1], "_bucket")
				if has[name] = true; !known[name] {
					t.Errorf("%s uses %q, which is not a metric of the provider.", file, name)
				}
			}
		}

		for name := range known {
			if tc.all && strings.HasPrefix(name, "provider_ansible_") && !has[name] {
				t.Errorf("%s should have %q.", file, name)
			}
		}

		if len(has) == 0 {
			t.Errorf("%s should have metrics.", file)
		}
	}
}

// TestAlerts tests that the documentation has a section for each alert.
func TestAlerts(t *testing.T) {
	operations := needs.Read(t, "../docs/operations.md")

	for _, m := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(needs.Read(t, "../examples/operations/alerts.yaml"), -1) {
		if !strings.Contains(operations, "| `"+m[1]+"` |") {
			t.Errorf("The documentation should tell what to do about %q.", m[1])
		}
	}
}

// metricNames returns the names of the metrics of the provider.
func metricNames(t *testing.T) map[string]bool {
	t.Helper()

	runtime, ok := metrics.Registry.(prometheus.Collector)
	if !ok {
		t.Fatal("The registry should describe its metrics.")
	}

	own := prometheus.NewRegistry()
	telemetry.NewObserver(logging.NewNopLogger(), event.NewNopRecorder(), own)
	content.NewMetrics(own)
	telemetry.CountStarts(own)
	telemetry.MeasurePool(own, func() map[common.Place]pool.Stats { return map[common.Place]pool.Stats{common.PlaceProvider: {}} })

	descs := make(chan *prometheus.Desc)

	go func() {
		defer close(descs)

		for _, c := range []prometheus.Collector{
			runtime, managed.NewMRMetricRecorder(), statemetrics.NewMRStateMetrics(),
			own, telemetry.NewConfinementMetric(sandbox.Kernel{}), telemetry.NewObjectMetrics(nil, "", nil, nil),
		} {
			c.Describe(descs)
		}
	}()

	names := map[string]bool{}

	for d := range descs {
		// There is no other way to read it.
		m := regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("A description should have a name, got %s", d)
		}

		names[m[1]] = true
	}

	return names
}
