package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource/unstructured/composite"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
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

// A shape of the runs of an XR.
type shape struct {
	name string
	runs int
	// chained runs begin one after another.
	chained bool
	// events and ready are what is to be kept; zero for nothing.
	events int
	ready  time.Duration
}

// shapes of XRs, by the names of their Compositions. The first one warms up.
func shapes() []shape {
	return []shape{
		{name: "warm-up", runs: 2, chained: true},
		{name: "single", runs: 1},
		{name: "chain-of-6", runs: 6, chained: true, events: 90, ready: 8 * time.Second},
		{name: "chain-of-12", runs: 12, chained: true, events: 160, ready: 25 * time.Second},
		{name: "independent-12", runs: 12},
	}
}

// composition of the runs.
func (s shape) composition(playbook string) string {
	var runs []string
	for i := range s.runs {
		after := ""
		if s.chained && i > 0 {
			after = fmt.Sprintf(", dependsOn: [run%d]", i-1)
		}
		runs = append(runs, fmt.Sprintf("{name: run%d%s}", i, after))
	}
	return fmt.Sprintf(chainComposition, s.name, strings.Join(runs, ", "), playbook)
}

// chains measures what core's circuit breaker does to XRs while their runs are created.
func (b *bench) chains(ctx context.Context, c *cli) error {
	if err := b.restart(ctx); err != nil {
		return err
	}
	if err := b.define(ctx, debug(c).playbook); err != nil {
		return err
	}
	t, verdicts := newTable(b.out, "Creation of XRs under core's circuit breaker", "", "events", "XR written",
		"Ready after"), ""
	for i, s := range shapes() {
		m, err := b.composed(ctx, s.name)
		if err != nil {
			return errors.Wrap(err, s.name)
		}
		if i > 0 {
			t.row(s.name, m.events, m.writes, seconds(m.ready))
		}
		if s.events > 0 {
			verdicts += fmt.Sprintf("%s: at most %d events: %s. Ready after at most %s: %s.\n",
				s.name, s.events, verdict(m.events <= s.events), seconds(s.ready), verdict(m.ready <= s.ready))
		}
	}
	t.flush()
	_, _ = fmt.Fprint(b.out, verdicts)
	return nil
}

// define the kind of the XRs, and their Compositions.
func (b *bench) define(ctx context.Context, playbook string) error {
	manifests := []string{chainDefinition}
	for _, s := range shapes() {
		manifests = append(manifests, s.composition(playbook))
	}
	for i, m := range manifests {
		u := composite.New()
		if err := yaml.Unmarshal([]byte(m), &u.Object); err != nil {
			return errors.Wrap(err, "cannot read a manifest")
		}
		if err := b.create(ctx, u); err != nil {
			return err
		}
		for i == 0 && u.GetCondition("Established").Status != corev1.ConditionTrue {
			if err := sleep(ctx, 200*time.Millisecond); err != nil {
				return err
			}
			if err := b.kube.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
				return errors.Wrap(err, "cannot get the definition")
			}
		}
	}
	return nil
}

// A creation is what creating an XR took: events of the circuit breaker, writes of the XR, and the time to Ready.
type creation struct {
	events, writes int
	ready          time.Duration
}

// composed creates an XR by a Composition. It ends when the XR is Ready, and nothing happens any more.
func (b *bench) composed(ctx context.Context, name string) (m creation, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	before, err := b.quiet(ctx)
	if err != nil {
		return m, err
	}
	xr := composite.New(
		composite.WithGroupVersionKind(schema.GroupVersionKind{Group: "bench.example.org", Version: "v1", Kind: "Chain"}))
	xr.SetNamespace(namespace)
	xr.SetName(name)
	xr.SetCompositionReference(&corev1.ObjectReference{Name: name})
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(xr.GroupVersionKind())
	w, err := b.kube.Watch(ctx, l, client.InNamespace(namespace))
	if err != nil {
		return m, errors.Wrap(err, "cannot watch")
	}
	defer w.Stop()

	start := time.Now()
	if err := b.create(ctx, xr); err != nil {
		return m, err
	}
	now := composite.New()
	for e := range w.ResultChan() {
		u, ok := e.Object.(*unstructured.Unstructured)
		if !ok || u.GetName() != name {
			continue
		}
		m.writes++
		now.Unstructured = *u
		if m.ready == 0 && now.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue {
			m.ready = time.Since(start)
			after, err := b.quiet(ctx)
			if err != nil {
				return m, err
			}
			m.events = after - before
			if err := b.kube.Get(ctx, client.ObjectKeyFromObject(xr), xr); err != nil {
				return m, errors.Wrap(err, "cannot get the XR")
			}
		}
		if m.ready > 0 && u.GetResourceVersion() == xr.GetResourceVersion() {
			return m, nil
		}
	}
	return m, errors.Errorf("it was not Ready in time: %s", now.GetCondition(xpv2.TypeSynced).Message)
}

// quiet waits until core's circuit breaker counts no more events, and returns how many it has counted, those
// included that it has dropped.
func (b *bench) quiet(ctx context.Context) (int, error) {
	for last := -1.0; ; {
		n, _, err := sum(ctx, b.stack.CoreMetrics(), "circuit_breaker_events_total{")
		if err != nil || n == last {
			return int(n), err
		}
		last = n
		if err := sleep(ctx, 5*time.Second); err != nil {
			return 0, err
		}
	}
}
