package e2e

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
)

// TestCircuitBreaker has core's circuit breaker open for an XR with runs in progress:
// each of them begins when those before it are ready all the same. It waits for
// minutes and needs little of the machine, so this file is among the first.
func TestCircuitBreaker(t *testing.T) {
	if !controlplane.Since("v2.4") {
		t.Skip("core's circuit breaker cannot be configured")
	}

	t.Parallel()

	d := composeData{Plural: "bursts", Kind: "Burst", Scope: "Namespaced", Composition: "bursts", Namespace: cp.Namespace(t), Directory: directory(t)}

	objs := cp.Apply(t, d.composition()+`
      runs:
      - name: base
        vars: {name: base}
      - name: app
        forEach: "${xr.spec.apps}"
        dependsOn: [base]
        vars: {name: "${each.key}"}
      - name: last
        dependsOn: [app]
        vars: {name: last}
      defaults:
        providerConfigRef: {kind: ProviderConfig, name: bursts}
        vars: {directory: "${xr.spec.directory}"}
        playbookInline: `+noted+`
      status:
        name: "${runs.last.outputs.name}"
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {name: bursts, namespace: "[[.Namespace]]"}
spec: {}
---
apiVersion: e2e.example.org/v1
kind: Burst
metadata: {name: burst, namespace: "[[.Namespace]]"}
spec:
  crossplane: {compositionRef: {name: bursts}}
  directory: [[.Directory]]
  apps: [a, b, c, d]
`, d)
	xr := objs[len(objs)-1]

	// A slow machine needs more of them: the circuit closes again.
	n := 0

	Eventually(t, "an open circuit", func() bool {
		for range controlplane.CircuitBreakerBurst / 10 {
			n++

			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata": {"annotations": {"e2e.example.org/burst": "%d"}}}`, n))
			if err := cp.Kube.Patch(t.Context(), xr.Unstructured(), patch); err != nil {
				t.Fatal(err)
			}
		}

		return ConditionOf(cp.Get(t, xr), "Responsive")["status"] == "False"
	})
	cp.WaitFor(t, xr, Condition("Ready", "True"), Field("status.name", "last"))
}
