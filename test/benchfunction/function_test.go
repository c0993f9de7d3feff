// Package benchfunction measures function-ansible over gRPC. Figures of one run can be compared with each other, not with
// those of another machine.
package benchfunction

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/yaml"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

const function = "../../bin/function-ansible"

// BenchmarkFunction sends requests to the function.
func BenchmarkFunction(b *testing.B) {
	needs.Built(b, "bench-function", function)

	client := start(b)

	for _, runs := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("runs=%d", runs), func(b *testing.B) {
			req := requestOf(b, runs)

			for b.Loop() {
				rsp, err := client.RunFunction(b.Context(), req)
				needs.OK(b, err)

				if c := rsp.GetConditions(); len(rsp.GetDesired().GetResources()) != runs || len(c) != 1 ||
					c[0].GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
					b.Fatalf("The function does not find all runs ready: %v %v", c, rsp.GetResults())
				}
			}
		})
	}
}

// start the function until the benchmark ends, and return a client of it, which waits until it listens.
func start(b *testing.B) fnv1.FunctionRunnerServiceClient {
	b.Helper()

	address, err := controlplane.FreeAddress(b.Context())
	needs.OK(b, err)

	cmd := exec.CommandContext(b.Context(), function, "serve", "--insecure", "--metrics-address=", "--address="+address)
	cmd.Stderr = os.Stderr

	needs.OK(b, cmd.Start())
	b.Cleanup(func() { _ = cmd.Wait() })

	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	needs.OK(b, err)
	b.Cleanup(func() { _ = conn.Close() })

	return fnv1.NewFunctionRunnerServiceClient(conn)
}

// A run of the input, with five computed variables.
const run = `
- name: %[1]s
  role: acme.app.server
  runPolicy: RunOnChange
  vars:
    name: "${xr.metadata.name}"
    size: "${xr.spec.size}"
    label: "%[1]s-${xr.metadata.namespace}-${xr.spec.title}"
    owners: "${xr.spec.?owners.orValue([])}"
    large: "${xr.spec.size > 10 && xr.spec.enabled}"
    state: fixed
`

const xr = `
apiVersion: example.org/v1
kind: App
metadata: {namespace: default, name: app, uid: 00000000-0000-0000-0000-000000000001, generation: 1}
spec: {size: 20, title: An application, owners: [alice, bob], enabled: true}
status:
  conditions:
  - {type: Ready, status: "True", reason: Available, lastTransitionTime: "2026-01-01T00:00:00Z"}
  - {type: AnsibleRunsReady, status: "True", reason: Available, lastTransitionTime: "2026-01-01T00:00:00Z"}
`

// schema of the XR, as core gives it.
const schema = `
type: object
properties:
  spec:
    type: object
    required: [size, title, enabled]
    properties:
      size: {type: integer}
      title: {type: string}
      owners: {type: array, items: {type: string}}
      enabled: {type: boolean}
  status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// An observed run is as the API server has it, ready.
const observed = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata:
  namespace: default
  name: app-%[1]s
  uid: 00000000-0000-0000-0000-000000000002
  generation: 1
  labels: {crossplane.io/composite: app, ansible.fn.crossplane.io/composite-uid: 00000000-0000-0000-0000-000000000001}
  annotations:
    ansible.crossplane.io/runPolicy: RunOnChange
    crossplane.io/composition-resource-name: %[1]s
    crossplane.io/external-name: app-%[1]s
  managedFields:
  - manager: apiextensions.crossplane.io/composed/0000
    operation: Apply
    apiVersion: ansible.m.crossplane.io/v1alpha1
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata:
        f:annotations: {f:ansible.crossplane.io/runPolicy: {}, f:crossplane.io/composition-resource-name: {}}
        f:labels: {f:crossplane.io/composite: {}, f:ansible.fn.crossplane.io/composite-uid: {}}
      f:spec:
        f:providerConfigRef: {f:kind: {}, f:name: {}}
        f:forProvider: {f:role: {}, f:vars: {f:state: {}}, 
          f:unsafeVars: {f:name: {}, f:size: {}, f:label: {}, f:owners: {}, f:large: {}}}
spec:
  managementPolicies: ["*"]
  providerConfigRef: {kind: ClusterProviderConfig, name: default}
  forProvider:
    role: acme.app.server
    vars: {state: fixed}
    unsafeVars: {name: app, size: 20, label: "%[1]s-default-An application", owners: [alice, bob], large: true}
status:
  conditions:
  - {type: Ready, status: "True", reason: Available, observedGeneration: 1, lastTransitionTime: "2026-01-01T00:00:00Z"}
  - {type: Synced, status: "True", reason: ReconcileSuccess, observedGeneration: 1,
    lastTransitionTime: "2026-01-01T00:00:00Z"}
  atProvider:
    lastRun: {id: "1", mode: Apply, state: present, phase: Succeeded, hosts: {ok: 5, changed: 2}}
    lastApply: {id: "1", result: Succeeded, attempts: 1}
    outputs: {endpoint: "%[1]s:80"}
`

// requestOf an XR with a number of runs, all of them observed.
func requestOf(tb testing.TB, runs int) *fnv1.RunFunctionRequest {
	tb.Helper()

	in := &strings.Builder{}
	in.WriteString("apiVersion: ansible.fn.crossplane.io/v1alpha1\nkind: AnsibleRuns\nruns:\n")

	resources := map[string]any{}

	for i := range runs {
		name := fmt.Sprintf("run%d", i)
		_, _ = fmt.Fprintf(in, run, name)
		resources[name] = map[string]any{"resource": object(tb, fmt.Sprintf(observed, name))}
	}

	b, err := json.Marshal(map[string]any{
		"meta": map[string]any{
			"tag":          "bench",
			"capabilities": []string{"CAPABILITY_CAPABILITIES", "CAPABILITY_REQUIRED_SCHEMAS"},
		},
		"input":           object(tb, in.String()),
		"requiredSchemas": map[string]any{"xr": map[string]any{"openapiV3": object(tb, schema)}},
		"observed": map[string]any{
			"composite": map[string]any{"resource": object(tb, xr)}, "resources": resources,
		},
	})
	needs.OK(tb, err)

	req := &fnv1.RunFunctionRequest{}
	needs.OK(tb, protojson.Unmarshal(b, req))

	return req
}

func object(tb testing.TB, text string) map[string]any {
	tb.Helper()

	o := map[string]any{}
	needs.OK(tb, yaml.Unmarshal([]byte(text), &o))

	return o
}
