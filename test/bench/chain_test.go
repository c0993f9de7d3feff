package bench

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource/unstructured/composite"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// chainDefinition is the kind of XRs with composed runs.
const chainDefinition = `
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: chains.bench.example.org}
spec:
  {scope: Namespaced, group: bench.example.org, names: {kind: Chain, plural: chains}, versions: [
    {name: v1, served: true, referenceable: true,
     schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}]}
`

// chainComposition wants a name, runs, and a playbook.
const chainComposition = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: %s}
spec:
  compositeTypeRef: {apiVersion: bench.example.org/v1, kind: Chain}
  mode: Pipeline
  pipeline:
  - step: ansible
    functionRef: {name: function-ansible}
    input:
      apiVersion: ansible.fn.crossplane.io/v1alpha1
      kind: AnsibleRuns
      runs: [%s]
      defaults: {providerConfigRef: {kind: ProviderConfig, name: default}, playbookInline: %q}
`

// BenchmarkChain measures what the creation of XRs takes of the events that core's circuit breaker allows. It is for a
// control plane of its own: the XRs stay, since the deletion of a chain takes minutes.
func BenchmarkChain(b *testing.B) {
	definition := create(b, chainDefinition)
	cluster.Eventually(b, "the definition to be established", func() bool {
		needs.OK(b, kube.Get(b.Context(), client.ObjectKeyFromObject(definition), definition))
		return definition.GetCondition("Established").Status == corev1.ConditionTrue
	})

	for _, shape := range []struct {
		name    string
		runs    int
		chained bool
	}{
		{"single", 1, false}, {"chain-of-6", 6, true}, {"chain-of-12", 12, true}, {"independent-12", 12, false},
	} {
		var runs []string
		for i := range shape.runs {
			after := ""
			if shape.chained && i > 0 {
				after = fmt.Sprintf(", dependsOn: [run%d]", i-1)
			}
			runs = append(runs, fmt.Sprintf("{name: run%d%s}", i, after))
		}
		create(b, fmt.Sprintf(chainComposition, shape.name, strings.Join(runs, ", "), debug().playbook))

		compose(b, shape.name) // The first one warms up.
		b.Run(shape.name, func(b *testing.B) {
			events, writes := 0.0, 0
			for b.Loop() {
				e, w := compose(b, shape.name)
				events, writes = events+e, writes+w
			}
			b.ReportMetric(events/float64(b.N), "events/op")
			b.ReportMetric(float64(writes)/float64(b.N), "writes-of-the-XR/op")
		})
	}
}

// create what a manifest has.
func create(b *testing.B, manifest string) *composite.Unstructured {
	b.Helper()

	u := composite.New()
	needs.OK(b, yaml.Unmarshal([]byte(manifest), &u.Object))
	needs.OK(b, kube.Create(b.Context(), u))

	return u
}

// compose an XR by a Composition, and return the events that it took, and how often the XR was written.
func compose(b *testing.B, composition string) (events float64, writes int) {
	b.Helper()

	before := quiet(b)
	xr := composite.New(
		composite.WithGroupVersionKind(schema.GroupVersionKind{Group: "bench.example.org", Version: "v1", Kind: "Chain"}))
	xr.SetNamespace(namespace)
	xr.SetGenerateName(composition + "-")
	xr.SetCompositionReference(&corev1.ObjectReference{Name: composition})

	needs.OK(b, kube.Create(b.Context(), xr))

	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(xr.GroupVersionKind())
	watch, err := kube.Watch(b.Context(), l, client.InNamespace(namespace),
		client.MatchingFields{"metadata.name": xr.GetName()},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: xr.GetResourceVersion()}})
	needs.OK(b, err)

	written := make(chan int)
	go func() {
		n := 1
		for range watch.ResultChan() {
			n++
		}
		written <- n
	}()
	cluster.Eventually(b, "the XR to be Ready", func() bool {
		needs.OK(b, kube.Get(b.Context(), client.ObjectKeyFromObject(xr), xr))
		return xr.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue
	})
	events = quiet(b) - before
	watch.Stop()

	return events, <-written
}

// quiet waits until core's circuit breaker has counted no more events for a while, and returns how many it has counted,
// those included that it has dropped.
func quiet(b *testing.B) (events float64) {
	b.Helper()

	const polls = 20 // Five seconds of them.
	same := 0
	cluster.Eventually(b, "the end of events", func() bool {
		last := events
		events = cluster.Metric(b, stack.CoreMetrics(), "circuit_breaker_events_total")
		same++
		if events != last {
			same = 0
		}
		return same == polls
	})
	return events
}
