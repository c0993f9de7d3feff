package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/function-sdk-go/errors"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

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
func requestOf(runs int) (*fnv1.RunFunctionRequest, error) {
	in := &strings.Builder{}
	in.WriteString("apiVersion: ansible.fn.crossplane.io/v1alpha1\nkind: AnsibleRuns\nruns:\n")

	resources := map[string]any{}

	for i := range runs {
		name := fmt.Sprintf("run%d", i)
		_, _ = fmt.Fprintf(in, run, name)

		o, err := object(fmt.Sprintf(observed, name))
		if err != nil {
			return nil, err
		}

		resources[name] = map[string]any{"resource": o}
	}

	input, err := object(in.String())
	if err != nil {
		return nil, err
	}

	composite, err := object(xr)
	if err != nil {
		return nil, err
	}

	openAPI, err := object(schema)
	if err != nil {
		return nil, err
	}

	b, err := json.Marshal(map[string]any{
		"meta": map[string]any{
			"tag":          "bench",
			"capabilities": []string{"CAPABILITY_CAPABILITIES", "CAPABILITY_REQUIRED_SCHEMAS"},
		},
		"input":           input,
		"requiredSchemas": map[string]any{"xr": map[string]any{"openapiV3": openAPI}},
		"observed":        map[string]any{"composite": map[string]any{"resource": composite}, "resources": resources},
	})
	if err != nil {
		return nil, errors.Wrap(err, "cannot marshal the request")
	}

	req := &fnv1.RunFunctionRequest{}

	return req, errors.Wrap(protojson.Unmarshal(b, req), "cannot make the request")
}

func object(text string) (map[string]any, error) {
	o := map[string]any{}
	return o, errors.Wrap(yaml.Unmarshal([]byte(text), &o), "cannot parse")
}
