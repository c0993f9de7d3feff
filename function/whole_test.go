package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// TestWhole checks that the whole XR as a value has only fields of its author: reports of Crossplane, the API server
// and the runs must not change the inputs of runs.
func TestWhole(t *testing.T) {
	const (
		input = `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  requiredResources: {net: {apiVersion: v1, kind: ConfigMap, matchName: net}}
  runs:
  - {name: database, role: acme.postgres.server}
  - name: app
    role: acme.app.server
    varsFrom:
    - {value: "${xr}", exclude: [spec]}
    - {value: "${xr.spec}"}
    - {value: "${{'of_keys': xr.spec.transformList(k, v, k)}}"}
    vars:
      all: "${xr}"
      nested: "${{'a': [xr]}}"
      about: "${xr.metadata}"
      notes: "${xr.metadata.annotations}"
      state: "${xr.?status}"
      number: "${size(xr.metadata)}"
      database: "${runs.database}"
      net: "${required.net}"
    inventories:
    - yaml:
        all: {hosts: {web: {all: "${xr}"}}, vars: "${{'about': xr.metadata}}"}
  - {name: part, role: acme.app.part, forEach: "${xr.spec}", vars: {part: "${each.value}"}}
`
		// created is the XR as its author has written it. Only claims have a resourceRef of Crossplane.
		created  = `apiVersion: example.org/v1, kind: App, metadata: {name: app, [namespace]uid: u1, labels: {a: b}, annotations: {c: d}}, spec: {size: 5, resourceRef: {a: b}}`
		reported = `apiVersion: example.org/v1, kind: App,
  metadata: {name: app, [namespace]uid: u1, labels: {a: b}, annotations: {c: d, kubectl.kubernetes.io/last-applied-configuration: x}, resourceVersion: "7", generation: 3, creationTimestamp: "2026-01-01T00:00:00Z", finalizers: [a], ownerReferences: [{name: x}], managedFields: [{manager: x}]},
  spec: {size: 5, resourceRef: {a: b}, [own]},
  status: {conditions: [{type: Ready, status: "False"}], [status]}`
		database = `
    database:
      resource:
        apiVersion: ansible.[m]crossplane.io/v1alpha1
        kind: AnsibleRun
        metadata: {name: app-database, generation: 1, labels: {ansible.fn.crossplane.io/composite-uid: u1}, resourceVersion: "[n]"}
        spec: {providerConfigRef: {[kind]name: default}, forProvider: {role: acme.postgres.server}}
        status:
          conditions: [{type: Ready, status: "True", observedGeneration: 1, lastTransitionTime: "[n]"}, {type: Synced, status: "True", observedGeneration: 1}, {type: PageServed, status: "True", reason: Found, message: "[n]"}]
          atProvider: {lastRun: {id: "[n]", phase: Succeeded}, lastApply: {runId: "[n]"}, outputs: {a: b}, reported: {a: "[n]"}}
required_resources: {net: {items: [{resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: net, resourceVersion: "[n]"}, data: {a: b}}}]}}
`
	)

	cases := map[string]struct {
		reason    string
		namespace string
		// own has the fields of Crossplane in the spec, and status those in the status.
		own, status string
	}{
		"Namespaced": {reason: "The values of a namespaced XR do not change.", namespace: "default", own: `crossplane: {resourceRefs: [{name: x}]}`, status: `crossplane: {a: b}`},
		"Cluster":    {reason: "The values of a cluster-scoped XR do not change.", own: `crossplane: {resourceRefs: [{name: x}]}`, status: `crossplane: {a: b}`},
		"Legacy": {
			reason: "The values of a legacy XR with a claim do not change.",
			own: `claimRef: {name: x}, compositionRef: {name: x}, compositionSelector: {}, compositionRevisionRef: {name: x}, compositionRevisionSelector: {}, compositionUpdatePolicy: Manual,
    compositeDeletePolicy: Background, resourceRefs: [{name: x}], writeConnectionSecretToRef: {name: x}, publishConnectionDetailsTo: {name: x}, environmentConfigRefs: []`,
			status: `claimConditionTypes: [AnsibleRunsReady], connectionDetails: {lastPublishedTime: "2026-01-01T00:00:00Z"}`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			namespace, m, kind := "", "", ""
			if tc.namespace != "" {
				namespace, m, kind = "namespace: "+tc.namespace+", ", "m.", "kind: ClusterProviderConfig, "
			}

			render := func(xr, n string) map[string]*fnv1.Resource {
				in := strings.NewReplacer("[namespace]", namespace, "[own]", tc.own, "[status]", tc.status, "[n]", n, "[m]", m, "[kind]", kind).
					Replace(input + "observed:\n  composite: {resource: {" + xr + "}}\n  resources:" + database)

				rsp := respond(t, request(t, in))

				if rsp.GetDesired().GetResources()["app"] == nil {
					t.Fatal(rsp.GetConditions())
				}

				return rsp.GetDesired().GetResources()
			}

			before, after := render(created+", status: {}", "1"), render(reported, "2")

			if diff := cmp.Diff(before, after, protocmp.Transform()); diff != "" {
				t.Errorf("\n%s\nRunFunction(...): -before what was reported, +after it:\n%s", tc.reason, diff)
			}

			want := object(t, "{apiVersion: example.org/v1, kind: App, metadata: {name: app, "+namespace+"uid: u1, labels: {a: b}, annotations: {c: d}}, spec: {size: 5, resourceRef: {a: b}}}")
			if diff := cmp.Diff(any(want), manifest.Nested(after["app"].GetResource().AsMap(), "spec", "forProvider", "unsafeVars", "all")); diff != "" {
				t.Errorf("\n%s\nRunFunction(...): -want the XR as a whole, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
