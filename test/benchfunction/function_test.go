// Package benchfunction measures function-ansible over gRPC, side by side with a floor: a server that returns the same
// responses, ready-made. Figures of one run can be compared with each other, not with those of another machine.
package benchfunction

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	sdk "github.com/crossplane/function-sdk-go"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

const function = "../../bin/function-ansible"

// A floor returns a ready-made response, in a process of its own as the function does.
type floor struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	rsp fnv1.RunFunctionResponse
}

// RunFunction returns the response.
func (f *floor) RunFunction(context.Context, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	return &f.rsp, nil
}

// TestMain serves the floor where the environment has its address, and the file with its response.
func TestMain(m *testing.M) {
	address, file := os.Getenv("FLOOR_ADDRESS"), os.Getenv("FLOOR_RESPONSE")
	if address == "" {
		os.Exit(m.Run())
	}

	f := &floor{}

	data, err := os.ReadFile(file)
	if err = errors.Join(err, proto.Unmarshal(data, &f.rsp)); err == nil {
		err = sdk.Serve(f, sdk.Listen("tcp", address), sdk.Insecure(true), sdk.MaxRecvMessageSize(64<<20), sdk.WithMetricsServer(""))
	}

	panic(err)
}

// BenchmarkFunction sends requests to the function and to the floor in turns, and compares the medians of how long they
// take.
func BenchmarkFunction(b *testing.B) {
	needs.Built(b, "bench-function", function)

	of := start(b, function, nil, "serve", "--insecure", "--metrics-address=")

	for _, runs := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("runs=%d", runs), func(b *testing.B) {
			req := requestOf(b, runs)
			rsp, _ := call(b, of, req)

			if c := rsp.GetConditions(); len(rsp.GetDesired().GetResources()) != runs || len(c) != 1 ||
				c[0].GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
				b.Fatalf("The function does not find all runs ready: %v %v", c, rsp.GetResults())
			}

			data, err := proto.Marshal(rsp)
			needs.OK(b, err)

			file := filepath.Join(b.TempDir(), "response")
			needs.OK(b, os.WriteFile(file, data, 0o600))

			least := start(b, os.Args[0], []string{"FLOOR_RESPONSE=" + file})

			var took, tookFloor []time.Duration

			for b.Loop() {
				_, d := call(b, of, req)
				took = append(took, d)

				_, d = call(b, least, req)
				tookFloor = append(tookFloor, d)
			}

			b.ReportMetric(median(took), "ms/function")
			b.ReportMetric(median(tookFloor), "ms/floor")
			b.ReportMetric(median(took)/median(tookFloor), "ratio")
		})
	}
}

func median(of []time.Duration) float64 {
	slices.Sort(of)

	return of[len(of)/2].Seconds() * 1000
}

// start a server until the benchmark ends, and return a client of it, which waits until it listens.
func start(b *testing.B, program string, env []string, args ...string) fnv1.FunctionRunnerServiceClient {
	b.Helper()

	address, err := controlplane.FreeAddress(b.Context())
	needs.OK(b, err)

	cmd := exec.CommandContext(b.Context(), program, append(args, "--address="+address)...)
	cmd.Env = append(os.Environ(), append(env, "FLOOR_ADDRESS="+address)...)

	needs.OK(b, cmd.Start())
	b.Cleanup(func() { _ = cmd.Wait() })

	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	needs.OK(b, err)
	b.Cleanup(func() { _ = conn.Close() })

	return fnv1.NewFunctionRunnerServiceClient(conn)
}

// call a server, and return how long that took.
func call(b *testing.B, c fnv1.FunctionRunnerServiceClient,
	req *fnv1.RunFunctionRequest,
) (*fnv1.RunFunctionResponse, time.Duration) {
	b.Helper()

	began := time.Now()
	rsp, err := c.RunFunction(b.Context(), req)
	needs.OK(b, err)

	return rsp, time.Since(began)
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
