package main

import (
	"context"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// A status that is one expression, call after call. Core has applied what it was told
// the last time when it calls again.
func TestWholeStatus(t *testing.T) {
	const (
		outputs = "${runs.server.outputs.status}"
		schema  = `
meta: {capabilities: [CAPABILITY_CAPABILITIES, CAPABILITY_REQUIRED_SCHEMAS]}
requiredSchemas: {xr: {openapiV3: {type: object, properties: {status: {type: object, required: [from], properties: {host: {type: string}, port: {type: integer}, from: {type: string}}}}}}}
`
	)

	type call struct {
		// what the run reports; "" while it is not there.
		reports string
		// status that an earlier step of the pipeline has computed.
		earlier string
		// status to be applied; "" for none.
		want string
		// reason and message of the condition.
		said string
	}

	cases := map[string]struct {
		reason string
		status string
		schema string
		runs   string
		// before the first call the XR has this status.
		before string
		calls  []call
	}{
		"Fields": {
			reason: "The status is what the run reports. What it does not report any more goes.",
			status: outputs,
			calls: []call{
				{said: "Creating server: is being created"},
				{reports: `{status: {host: a, port: 1, deep: {a: x, b: y}}}`, want: `{host: a, port: 1, deep: {a: x, b: y}}`, said: "Available "},
				{reports: `{status: {host: b, deep: {b: z}}}`, want: `{host: b, deep: {b: z}}`, said: "Available "},
				{reports: `{status: {}}`, said: "Available "},
			},
		},
		"Kept": {
			reason: "While it is not there all stays, but what others have written: that is not taken over.",
			status: outputs,
			calls: []call{
				{reports: `{status: {host: a, port: 1}}`, want: `{host: a, port: 1}`, said: "Available "},
				{want: `{host: a, port: 1}`, said: "Creating server: is being created"},
				{reports: `{}`, want: `{host: a, port: 1}`, said: "InvalidStatus status: runs.server.outputs.status is not there yet"},
				{reports: `{status: {port: 2}}`, want: `{port: 2}`, said: "Available "},
			},
		},
		"NotSet": {
			reason: "So it does when the XR lacks a value.",
			status: "${runs.server.outputs.status.merge({'zone': xr.spec.zone})}",
			calls: []call{
				{reports: `{status: {host: a}}`, said: "InvalidStatus status: xr.spec.zone is not set; write xr.spec.?zone if it may be missing"},
			},
		},
		"None": {
			reason: "With optional.none() it is left out.",
			status: "${runs.server.outputs.?status}",
			calls: []call{
				{reports: `{status: {host: a}}`, want: `{host: a}`, said: "Available "},
				{reports: `{}`, said: "Available "},
			},
		},
		"NotWanted": {
			reason: "What a run said of itself goes with it.",
			status: outputs,
			runs:   `[{name: server, when: false}]`,
			calls:  []call{{reports: `{status: {host: a}}`, said: "Available "}},
		},
		"NoObject": {
			reason: "What is no object is said to be none, and changes nothing.",
			status: outputs,
			calls: []call{
				{reports: `{status: {host: a}}`, want: `{host: a}`, said: "Available "},
				{reports: `{status: [host, a]}`, want: `{host: a}`, said: "InvalidStatus status: must be an object"},
				{reports: `{status: host}`, want: `{host: a}`, said: "InvalidStatus status: must be an object"},
			},
		},
		"NoObjectWithSchema": {
			reason: "With the schema, too.",
			status: outputs,
			schema: schema,
			calls:  []call{{reports: `{status: [host, a]}`, said: "InvalidStatus status: is not of type object, as the XRD says"}},
		},
		"Reserved": {
			reason: "No run forges what Crossplane and the function say. The rest stays as it was.",
			status: outputs,
			calls: []call{
				{reports: `{status: {host: a}}`, want: `{host: a}`, said: "Available "},
				{
					reports: `{status: {host: b, conditions: [{type: Ready, status: "True"}], crossplane: {}}}`, want: `{host: a}`,
					said: "InvalidStatus status.conditions[0]: the condition Ready is set by Crossplane or by function-ansible itself\nstatus.crossplane: this field is Crossplane's own; leave it out of the value",
				},
			},
		},
		"Misfit": {
			reason: "The XRD says what the fields may be. One that does not fit changes nothing.",
			status: outputs,
			schema: schema,
			calls: []call{
				{reports: `{status: {host: 5, port: "80", from: null}}`, want: `{host: "5", port: 80}`, said: "Available "},
				{reports: `{status: {host: b, port: many}}`, want: `{host: "5", port: 80}`, said: "InvalidStatus status: port: is not of type integer, as the XRD says"},
				{reports: `{status: {hots: b}}`, want: `{host: "5", port: 80}`, said: `InvalidStatus status: the XRD does not declare its field "hots" (did you mean "host"?)`},
			},
		},
		"KeptMisfit": {
			reason: "What fits the XRD no more is not kept: with it nothing of the XR could be applied.",
			status: outputs,
			before: `{port: many}`,
			schema: schema,
			calls: []call{
				{said: "Creating server: is being created"},
				{reports: `{status: {host: a}}`, want: `{host: a}`, said: "Available "},
			},
		},
		"RequiredOfOthers": {
			reason: "A field that the XRD requires may be another step's.",
			status: outputs,
			schema: schema,
			calls:  []call{{reports: `{status: {host: a}}`, earlier: `{from: step}`, want: `{host: a, from: step}`, said: "Available "}},
		},
		"EarlierStep": {
			reason: "What an earlier step says is under what this one says, and over what is only kept.",
			status: outputs,
			calls: []call{
				{reports: `{status: {host: a, deep: {b: ours}}}`, earlier: `{from: one, host: theirs, deep: {a: one}}`, want: `{host: a, from: one, deep: {a: one, b: ours}}`, said: "Available "},
				{earlier: `{from: two, deep: {a: two}}`, want: `{host: a, from: two, deep: {a: two, b: ours}}`, said: "Creating server: is being created"},
				{reports: `{status: 5}`, earlier: `{from: three, host: theirs, deep: gone}`, want: `{host: theirs, from: three, deep: gone}`, said: "InvalidStatus status: must be an object"},
				{reports: `{status: {port: 1}}`, earlier: `{from: four}`, want: `{port: 1, from: four}`, said: "Available "},
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.runs == "" {
				tc.runs = "[{name: server}]"
			}

			f := newFunction(t)
			status := object(t, tc.before)

			for i, c := range tc.calls {
				managed := map[string]any{"f:conditions": map[string]any{}}
				for name := range status {
					managed["f:"+name] = map[string]any{}
				}

				req := request(t, `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  defaults: {role: a.b.c}
  runs: `+tc.runs+`
  status: `+quoted(tc.status)+`
observed:
  composite:
    resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default, uid: xr}, spec: {}}
  resources: `+existing("server", "", "role: a.b.c")+tc.schema)

				server := req.GetObserved().GetResources()["server"].GetResource().AsMap()
				server["status"].(map[string]any)["atProvider"] = map[string]any{"outputs": object(t, c.reports)}
				req.Observed.Resources["server"].Resource = structOf(server)

				if c.reports == "" {
					delete(req.GetObserved().GetResources(), "server")
				}

				if c.earlier != "" {
					req.Desired = &fnv1.State{Composite: &fnv1.Resource{Resource: structOf(map[string]any{"status": object(t, c.earlier)})}}
				}

				// Core, and somebody else, have written it.
				xr := req.GetObserved().GetComposite().GetResource().AsMap()
				written := map[string]any{"theirs": "kept", "conditions": []any{map[string]any{"type": "Ready", "status": "False"}}}
				maps.Copy(written, status)
				xr["status"] = written
				xr["metadata"].(map[string]any)["managedFields"] = []any{
					map[string]any{"manager": "apiextensions.crossplane.io/composite", "operation": "Apply", "fieldsV1": map[string]any{"f:spec": map[string]any{}}},
					map[string]any{"manager": "apiextensions.crossplane.io/composite", "operation": "Apply", "subresource": "status", "fieldsV1": map[string]any{"f:status": managed}},
					map[string]any{"manager": "crossplane", "operation": "Update", "subresource": "status", "fieldsV1": map[string]any{"f:status": map[string]any{"f:theirs": map[string]any{}}}},
				}
				req.Observed.Composite.Resource = structOf(xr)

				rsp, err := f.RunFunction(context.Background(), req)
				if err != nil {
					t.Fatal(err)
				}

				got, _ := rsp.GetDesired().GetComposite().GetResource().AsMap()["status"].(map[string]any)
				if diff := cmp.Diff(object(t, c.want), got); diff != "" {
					t.Errorf("\n%s\ncall %d: status: -want, +got:\n%s", tc.reason, i, diff)
				}

				condition := rsp.GetConditions()[0]
				if diff := cmp.Diff(c.said, condition.GetReason()+" "+condition.GetMessage()); diff != "" {
					t.Errorf("\n%s\ncall %d: condition: -want, +got:\n%s", tc.reason, i, diff)
				}

				status = got
			}
		})
	}
}

// Without managed fields, all that is not Crossplane's own stays.
func TestWholeStatusUnmanaged(t *testing.T) {
	rsp, err := newFunction(t).RunFunction(context.Background(), request(t, `
input: {apiVersion: ansible.fn.crossplane.io/v1alpha1, kind: AnsibleRuns, runs: [{name: server, role: a.b.c}], status: "${runs.server.outputs}"}
observed:
  composite:
    resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default}, spec: {}, status: {host: a, conditions: [], claimConditionTypes: [a], crossplane: {}}}
`))
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(map[string]any{"status": map[string]any{"host": "a"}}, rsp.GetDesired().GetComposite().GetResource().AsMap()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// object in YAML; nil for "".
func object(t *testing.T, s string) map[string]any {
	t.Helper()

	var o map[string]any
	if err := yaml.Unmarshal([]byte(s), &o); err != nil {
		t.Fatal(err)
	}

	return o
}
