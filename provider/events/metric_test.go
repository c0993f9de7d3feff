package events

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
)

// TestMetric takes what the module operator_sdk.util.osdk_metric was given from the events of its tasks.
func TestMetric(t *testing.T) {
	module := func(kind, args string) string {
		return ended(kind, actionMetric, `{"invocation":{"module_args":`+args+`}}`)
	}

	for name, tc := range map[string]struct {
		reason string
		stream string
		want   []Metric
	}{
		"Counter":   {"A counter counts.", module(hostOK, `{"name":"jobs","counter":{"increment":true,"add":null},"gauge":null}`), []Metric{{Name: "jobs", Type: MetricCounter, Value: 1}}},
		"Created":   {"A metric may only be there.", module(hostOK, `{"name":"jobs","counter":{"increment":null,"add":null}}`), []Metric{{Name: "jobs", Type: MetricCounter}}},
		"Zero":      {"A gauge may be set to zero.", module(hostOK, `{"name":"size","gauge":{"set":0}}`), []Metric{{Name: "size", Type: MetricGauge, Set: true}}},
		"Subtract":  {"A gauge may decrease.", module(hostOK, `{"name":"size","gauge":{"subtract":2.5}}`), []Metric{{Name: "size", Type: MetricGauge, Value: -2.5}}},
		"Histogram": {"A histogram observes.", module(hostOK, `{"name":"took","histogram":{"observe":3}}`), []Metric{{Name: "took", Type: MetricHistogram, Value: 3}}},
		"Loop": {
			"Each item of a loop counts.",
			module(itemOK, `{"name":"took","summary":{"observe":3}}`) + module(itemOK, `{"name":"took","summary":{"observe":4}}`) + ended(hostOK, actionMetric, `{"results":[]}`),
			[]Metric{{Name: "took", Type: MetricSummary, Value: 3}, {Name: "took", Type: MetricSummary, Value: 4}},
		},
		"Failed":   {"What failed was not measured.", module(hostFailed, `{"name":"jobs","counter":{"increment":true}}`), nil},
		"Other":    {"Nor was what another module was given.", ended(hostOK, "acme.util.osdk_metric", `{"invocation":{"module_args":{"name":"jobs","counter":{"increment":true}}}}`), nil},
		"Decrease": {"A counter does not decrease.", module(hostOK, `{"name":"jobs","counter":{"add":-1}}`), nil},
		"Name":     {"A name is one of Prometheus.", module(hostOK, `{"name":"a\"} 1","counter":{}}`), nil},
		"LongName": {"And no long one.", module(hostOK, fmt.Sprintf(`{"name":%q,"counter":{}}`, strings.Repeat("a", 101))), nil},
		"Secret":   {"A secret is no name.", module(hostOK, `{"name":"hunter2","counter":{}}`), nil},
		"Two":      {"One metric at a time.", module(hostOK, `{"name":"a","counter":{},"gauge":{}}`), nil},
		"None":     {"One at least.", module(hostOK, `{"name":"a"}`), nil},
		"Garbage":  {"What is no metric is none.", module(hostOK, `{"name":"a","counter":{"add":"x"}}`), nil},
		"Censored": {"With no_log nothing is known.", ended(hostOK, actionMetric, `{"censored":"the output has been hidden"}`), nil},
		"Many": {"A task has a number of them.", strings.Repeat(module(itemOK, `{"name":"a","counter":{}}`), 200) + ended(hostOK, actionMetric, `{}`), func() (all []Metric) {
			for range MaxMetrics {
				all = append(all, Metric{Name: "a", Type: MetricCounter})
			}
			return all
		}()},
	} {
		t.Run(name, func(t *testing.T) {
			var got []Metric
			record(t, tc.stream, Options{Redactor: redact.New([]byte("hunter2")), Watch: Watch{Task: func(r TaskResult) { got = append(got, r.Metrics...) }}})

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
