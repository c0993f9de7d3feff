package events

import (
	"encoding/json"
	"math"
	"regexp"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// actionMetric is the resolved name of the module with which content of Ansible operators measures.
const actionMetric = "operator_sdk.util.osdk_metric"

// MaxMetrics is how many metrics of one task on one host are taken, and maxMetricName how long the name of
// one may be.
const (
	MaxMetrics    = 100
	maxMetricName = 100
)

// A MetricType is one of Prometheus.
type MetricType string

// Types of metrics.
const (
	MetricCounter   MetricType = "Counter"
	MetricGauge     MetricType = "Gauge"
	MetricHistogram MetricType = "Histogram"
	MetricSummary   MetricType = "Summary"
)

// A Metric is what content has measured.
type Metric struct {
	// Name of the metric, as Prometheus allows it.
	Name string
	// Type of the metric.
	Type MetricType
	// Set is true for a gauge that becomes the value, and false for one that the value is added to.
	Set bool `json:",omitempty"`
	// Value that is added to a counter or a gauge, or that a histogram or a summary observes.
	Value float64
}

// metricName is what Prometheus allows.
// https://prometheus.io/docs/concepts/data_model/#metric-names-and-labels
var metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)

// Check returns an error for a metric that no content can have measured.
func (m Metric) Check() error {
	switch {
	case !metricName.MatchString(m.Name) || len(m.Name) > maxMetricName:
		return errors.Errorf("%.100q is no name of a metric: it may have letters, digits, _ and :, and %d of them", m.Name,
			maxMetricName)
	case m.Type != MetricCounter && m.Type != MetricGauge && m.Type != MetricHistogram && m.Type != MetricSummary:
		return errors.Errorf("%q is no type of metrics", m.Type)
	case math.IsNaN(m.Value) || math.IsInf(m.Value, 0):
		return errors.New("the value of a metric must be a number")
	case m.Type == MetricCounter && m.Value < 0:
		return errors.New("counter metrics cannot decrease in value")
	case m.Set && m.Type != MetricGauge:
		return errors.New("only gauges can be set")
	}

	return nil
}

// measured is what content sends, and the arguments of its module.
type measured struct {
	Name string `json:"name"`

	Counter *struct {
		Increment *bool    `json:"increment"`
		Add       *float64 `json:"add"`
	} `json:"counter"`
	Gauge *struct {
		Set              *float64 `json:"set"`
		Increment        *bool    `json:"increment"`
		Decrement        *bool    `json:"decrement"`
		SetToCurrentTime *bool    `json:"set_to_current_time"`
		Add              *float64 `json:"add"`
		Subtract         *float64 `json:"subtract"`
	} `json:"gauge"`
	Histogram *observed `json:"histogram"`
	Summary   *observed `json:"summary"`
}

type observed struct {
	Observe *float64 `json:"observe"`
}

// ParseMetric returns what content has measured, by the arguments of its module in JSON, at a time.
func ParseMetric(text []byte, now time.Time) (Metric, error) {
	var a measured
	if err := json.Unmarshal(text, &a); err != nil {
		return Metric{}, errors.Wrap(err, "cannot read the metric")
	}

	m, given := Metric{Name: a.Name}, 0

	if c := a.Counter; c != nil {
		given++

		m.Type, m.Value = MetricCounter, value(c.Add)
		if is(c.Increment) {
			m.Value = 1
		}
	}

	if g := a.Gauge; g != nil {
		given++
		m.Type = MetricGauge

		// The first of several counts, as operators have it.
		switch {
		case is(g.Increment):
			m.Value = 1
		case is(g.Decrement):
			m.Value = -1
		case value(g.Add) != 0:
			m.Value = *g.Add
		case value(g.Subtract) != 0:
			m.Value = -*g.Subtract
		case g.Set != nil:
			m.Set, m.Value = true, *g.Set
		case is(g.SetToCurrentTime):
			m.Set, m.Value = true, float64(now.UnixMilli())/1000
		}
	}

	for t, o := range map[MetricType]*observed{MetricHistogram: a.Histogram, MetricSummary: a.Summary} {
		if o != nil {
			given++

			m.Type, m.Value = t, value(o.Observe)
		}
	}

	switch {
	case given > 1:
		return Metric{}, errors.New("only one metric can be processed at a time")
	case given == 0:
		return Metric{}, errors.New("a request should contain at least one metric")
	}

	return m, m.Check()
}

func is(b *bool) bool { return b != nil && *b }

func value(f *float64) float64 {
	if f == nil {
		return 0
	}

	return *f
}

// recordMetric keeps what a task has measured for its result. The module has sent it, too, but nobody can tell
// which run such a request comes from.
func (r *Recorder) recordMetric(e event, d data) {
	if d.ResolvedAction != actionMetric || e.Kind != hostOK && e.Kind != itemOK || len(r.metrics) >= MaxMetrics {
		return
	}

	var res struct {
		Invocation struct {
			Args json.RawMessage `json:"module_args"`
		} `json:"invocation"`
	}

	_ = json.Unmarshal(d.Result, &res)

	m, err := ParseMetric(res.Invocation.Args, time.Now())
	if err != nil || r.clean(m.Name) != m.Name {
		return
	}

	r.metrics = append(r.metrics, m)
}
