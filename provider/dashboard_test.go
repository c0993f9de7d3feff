package main

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

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

// TestDashboard checks that the provider has every metric that the dashboard
// shows, and that the dashboard shows every metric that the provider has.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../docs/dashboard.json")
	needs.OK(t, err)

	var dashboard struct {
		Panels []struct {
			Title   string `json:"title"`
			Type    string `json:"type"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}

	needs.OK(t, json.Unmarshal(text, &dashboard))

	known, shown := metricNames(t), map[string]bool{}

	for _, p := range dashboard.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("Panel %q should show something.", p.Title)
		}

		for _, target := range p.Targets {
			for _, name := range metricsIn(t, known, "Panel "+p.Title, target.Expr) {
				shown[name] = true
			}
		}
	}

	for name := range known {
		if strings.HasPrefix(name, "provider_ansible_") && !shown[name] {
			t.Errorf("The dashboard should show %q.", name)
		}
	}
}

// metricsIn an expression of PromQL, which have to be known.
func metricsIn(t *testing.T, known map[string]bool, what, expr string) []string {
	t.Helper()

	var names []string

	// Every metric has the label job, names of functions have none.
	for _, m := range regexp.MustCompile(`([a-zA-Z_:]+)\{`).FindAllStringSubmatch(expr, -1) {
		name := strings.TrimSuffix(m[1], "_bucket")
		if names = append(names, name); !known[name] {
			t.Errorf("%s is about %q, which the provider does not have.", what, m[1])
		}
	}

	if names == nil {
		t.Errorf("%s should be about a metric, got %s", what, expr)
	}

	return names
}

// TestAlerts checks that the provider has every metric that the alerts are about.
func TestAlerts(t *testing.T) {
	text, err := os.ReadFile("../examples/operations/alerts.yaml")
	needs.OK(t, err)

	var rule struct {
		Spec struct {
			Groups []struct {
				Rules []struct {
					Alert string `json:"alert"`
					Expr  string `json:"expr"`
				} `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}

	needs.OK(t, yaml.Unmarshal(text, &rule))

	operations, err := os.ReadFile("../docs/operations.md")
	needs.OK(t, err)

	known, alerts := metricNames(t), 0

	for _, g := range rule.Spec.Groups {
		for _, r := range g.Rules {
			alerts++

			metricsIn(t, known, "Alert "+r.Alert, r.Expr)

			if !strings.Contains(string(operations), "| `"+r.Alert+"` |") {
				t.Errorf("The documentation should say what to do about %q.", r.Alert)
			}
		}
	}

	if alerts == 0 {
		t.Error("There should be alerts.")
	}
}

// TestMetricsDocumented checks that the documentation lists the provider's own
// metrics, and no others.
func TestMetricsDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/observability.md")
	needs.OK(t, err)

	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (?:counter|gauge|histogram|summary) ").FindAllStringSubmatch(string(text), -1) {
		listed[m[1]] = true
	}

	own := metricNames(t)
	maps.DeleteFunc(own, func(name string, _ bool) bool { return !strings.HasPrefix(name, "provider_ansible_") })

	if diff := cmp.Diff(own, listed); diff != "" {
		t.Errorf("-want metrics, +listed metrics:\n%s", diff)
	}
}

// metricNames of the provider.
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
