package telemetry

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

const (
	// maxNamespaces is the number of namespaces with a label of their own: those with the most failing objects. Objects of
	// the others are counted together, with an empty label.
	maxNamespaces = 100
	// maxCollect is the timeout of a scrape.
	maxCollect = 5 * time.Second
)

// States of objects, as values of the label state.
const (
	stateReady   = "Ready"
	statePending = "Pending"
	stateFailing = "Failing"
	statePaused  = "Paused"
)

// An objectCollector counts the AnsibleRuns of one group when the metrics are scraped.
type objectCollector struct {
	cache         client.Reader
	list          func() resource.ManagedList
	elected       <-chan struct{}
	count, oldest *prometheus.Desc
}

// NewObjectMetrics returns metrics of the AnsibleRuns of a group. It lists them from a cache, once the process is the
// leader.
func NewObjectMetrics(
	cache client.Reader, group string, list func() resource.ManagedList, elected <-chan struct{},
) prometheus.Collector {
	labels := prometheus.Labels{"group": group}

	return &objectCollector{
		cache: cache, list: list, elected: elected,
		count: prometheus.NewDesc(prometheus.BuildFQName(namespace, "", "objects"),
			"AnsibleRuns, by namespace, state, and the reason of the condition that says so.",
			[]string{"object_namespace", "state", "reason"}, labels),
		oldest: prometheus.NewDesc(prometheus.BuildFQName(namespace, "", "oldest_failure_timestamp_seconds"),
			"Since when the AnsibleRun of a namespace fails that has failed the longest.",
			[]string{"object_namespace"}, labels),
	}
}

// Describe the metrics.
func (c *objectCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.count
	descs <- c.oldest
}

// A group of objects with the same labels.
type group struct{ namespace, state, reason string }

// Collect the metrics.
func (c *objectCollector) Collect(metrics chan<- prometheus.Metric) {
	select {
	case <-c.elected:
	default:
		return
	}

	ctx, cancel := context.WithTimeout(context.Background(), maxCollect)
	defer cancel()

	list := c.list()
	if err := c.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		metrics <- prometheus.NewInvalidMetric(c.count, err)

		return
	}

	objects, failing := list.GetItems(), map[string]int{}

	for _, o := range objects {
		failing[o.GetNamespace()] += 0

		if state, _ := stateOf(o); state == stateFailing {
			failing[o.GetNamespace()]++
		}
	}

	label, counts, oldest := bounded(failing), map[group]int{}, map[string]time.Time{}

	for _, o := range objects {
		state, cond := stateOf(o)
		ns, since := label[o.GetNamespace()], cond.LastTransitionTime.Time
		counts[group{ns, state, known(cond.Reason)}]++

		if first, ok := oldest[ns]; state == stateFailing && (!ok || since.Before(first)) {
			oldest[ns] = since
		}
	}

	for g, n := range counts {
		metrics <- prometheus.MustNewConstMetric(c.count, prometheus.GaugeValue, float64(n), g.namespace, g.state, g.reason)
	}

	for ns, since := range oldest {
		metrics <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, float64(since.Unix()), ns)
	}
}

// bounded returns the label of each namespace with one, given the number of failing objects in each.
func bounded(failing map[string]int) map[string]string {
	names := slices.SortedFunc(maps.Keys(failing), func(a, b string) int {
		return cmp.Or(cmp.Compare(failing[b], failing[a]), cmp.Compare(a, b))
	})

	labels := map[string]string{}
	for _, n := range names[:min(len(names), maxNamespaces)] {
		labels[n] = n
	}

	return labels
}

// known returns a reason as a label, or Other for an unknown reason: other clients may write any reason into a status,
// and Prometheus would keep each of them.
func known(r xpv2.ConditionReason) string {
	if slices.Contains([]xpv2.ConditionReason{
		"", xpv2.ReasonAvailable, xpv2.ReasonUnavailable, xpv2.ReasonCreating, xpv2.ReasonDeleting,
		xpv2.ReasonReconcileError, xpv2.ReasonReconcilePaused, common.ReasonRunning, common.ReasonRunFailed,
		common.ReasonRetriesExhausted, common.ReasonInputsChanged, common.ReasonNotApplied, common.ReasonAwaitingApproval,
		common.ReasonRejected, common.ReasonWaitingForWindow,
	}, r) {
		return string(r)
	}

	return "Other"
}

// stateOf returns the state of an object, and the condition from which it follows.
func stateOf(mg resource.Managed) (string, xpv2.Condition) {
	synced, ready := mg.GetCondition(xpv2.TypeSynced), mg.GetCondition(xpv2.TypeReady)

	switch {
	case synced.Reason == xpv2.ReasonReconcilePaused:
		return statePaused, synced
	case common.Failed(ready):
		return stateFailing, ready
	case synced.Status == corev1.ConditionFalse:
		return stateFailing, synced
	case ready.Status == corev1.ConditionTrue:
		return stateReady, ready
	}

	return statePending, ready
}
