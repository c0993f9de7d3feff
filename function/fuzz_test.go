package main

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// FuzzRunFunction checks that any input, XR and observed state have a response, which is always the same, without a
// panic.
func FuzzRunFunction(f *testing.F) {
	const (
		xr  = `{apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default}, spec: {size: 3, zones: [a, b], users: [{name: eve}]}}`
		run = `{apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, metadata: {name: x, generation: 1}, spec: {forProvider: {role: a.b.c}}, status: {atProvider: {outputs: {x: 1}}, conditions: [{type: Ready, status: "True"}]}}`
	)

	for _, s := range [][3]string{
		{`{apiVersion: ansible.fn.crossplane.io/v1alpha1, kind: AnsibleRuns, runs: [{name: database, role: a.b.c, vars: {size: "${xr.spec.size}"}}, {name: app, role: a.b.c, vars: {x: "${runs.database.outputs.x}"}}], status: {x: "${runs.database.outputs.x}"}}`, xr, run},
		{`{apiVersion: ansible.fn.crossplane.io/v1alpha1, kind: AnsibleRuns, defaults: {role: a.b.c}, runs: [{name: a, vars: {x: "${xr.spec.size}"}}, {name: b, when: "${runs.a.outputs.x > 0}"}], status: {x: "${runs.b.ready}"}}`, xr, run},
		{`{apiVersion: ansible.fn.crossplane.io/v1alpha1, kind: AnsibleRuns, runs: [x, {name: 5, vars: [], when: {}}], status: 1}`, `{}`, `{metadata: {managedFields: [{}]}}`},
		{`{apiVersion: ansible.fn.crossplane.io/v1alpha1, kind: AnsibleRuns, runs: [{name: a, role: a.b.c}], status: "${runs.a.outputs}"}`, `{apiVersion: example.org/v1, kind: App, metadata: {name: app, managedFields: [{manager: apiextensions.crossplane.io/composite, operation: Apply, subresource: status, fieldsV1: {"f:status": {"f:x": {}}}}]}, status: {x: 1, y: 2}}`, run},
		{`{apiVersion: ansible.fn.crossplane.io/v1alpha1, kind: AnsibleRuns, runs: [5, {name: 5, vars: [], when: {}}], defaults: 1, status: null, unknown: {}}`, xr, run},
		{`{apiVersion: ansible.fn.crossplane.io/v1alpha1, kind: AnsibleRuns, runs: [{name: a, role: "$${x}", limit: "${x}", forks: 1e300, timeout: "x", vars: {n: 9007199254740994}, varFiles: [{source: SecretKey}]}]}`, xr, run},
		{`{apiVersion: ansible.fn.crossplane.io/v1alpha1, kind: AnsibleRuns, runs: [{name: a, forEach: "${x}", varsFrom: [{}], inventories: [{yaml: {all: null}}], roles: [{name: {x: []}}]}]}`, xr, run},
		{`{apiVersion: ansible.fn.crossplane.io/v1alpha1, kind: AnsibleRuns, requiredResources: {a: {matchLabels: {x: "${xr.spec.x}"}}}, connectionDetails: [{name: 1}]}`, xr, run},
		{`{}`, `{metadata: [], spec: 1, status: {conditions: 5}}`, `{kind: AnsibleRun, metadata: 5}`},
	} {
		f.Add(asJSON(f, s[0]), asJSON(f, s[1]), asJSON(f, s[2]))
	}

	f.Fuzz(func(t *testing.T, in, composite, observed string) {
		respond := func() *fnv1.RunFunctionResponse {
			req := &fnv1.RunFunctionRequest{
				Input: fromJSON(t, in),
				Observed: &fnv1.State{
					Composite: &fnv1.Resource{Resource: fromJSON(t, composite)},
					Resources: map[string]*fnv1.Resource{"a": {Resource: fromJSON(t, observed)}, "database": {Resource: fromJSON(t, observed)}},
				},
			}

			rsp, err := newFunction(t).RunFunction(context.Background(), req)
			needs.OK(t, err)

			for _, r := range rsp.GetResults() {
				if strings.Contains(r.GetMessage(), "defect") {
					t.Errorf("RunFunction(...): %s", r.GetMessage())
				}
			}

			return rsp
		}

		if diff := cmp.Diff(respond(), respond(), protocmp.Transform()); diff != "" {
			t.Errorf("RunFunction(...): -once, +again:\n%s", diff)
		}
	})
}

func asJSON(tb testing.TB, text string) string {
	tb.Helper()

	b, err := yaml.YAMLToJSON([]byte(text))
	needs.OK(tb, err)

	return string(b)
}

func fromJSON(tb testing.TB, text string) *structpb.Struct {
	tb.Helper()

	s := &structpb.Struct{}
	if err := protojson.Unmarshal([]byte(text), s); err != nil {
		tb.Skip(err)
	}

	return s
}
