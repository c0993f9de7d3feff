package main

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// A step does not know what another one says of its runs: a Usage that an earlier
// step composes for a run of this one, which asks for none, is taken away.
func TestUsagesOfSteps(t *testing.T) {
	const req = `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  runs:
  - {name: database, role: acme.postgres.server}
  - {name: app, role: acme.app.server, dependsOn: [database], usages: false}
observed:
  composite: {resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default}, spec: {}}}
desired:
  resources:
    app uses database: {ready: READY_TRUE, resource: {apiVersion: protection.crossplane.io/v1beta1, kind: Usage}}
    web uses cache: {ready: READY_TRUE, resource: {apiVersion: protection.crossplane.io/v1beta1, kind: Usage}}
`

	rsp, err := newFunction(t).RunFunction(context.Background(), request(t, req))
	if err != nil {
		t.Fatal(err)
	}

	got := rsp.GetDesired().GetResources()
	if got["app uses database"] != nil {
		t.Error("RunFunction(...): want no Usage of a run that asks for none")
	}

	if got["web uses cache"] == nil {
		t.Error("RunFunction(...): want the Usage of another step's runs")
	}
}

// What a step lets go, a later one does not keep for runs of that step.
func TestRemovedByEarlierStep(t *testing.T) {
	req := request(t, `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  defaults: {role: a.b.c}
  runs:
  - {name: zone, forEach: "${xr.spec.zones}", vars: {name: "${each.key}"}}
  - {name: app, vars: {zones: "${runs.zone.transformList(k, z, k)}"}}
observed:
  composite: {resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default, uid: xr}, spec: {zones: [a]}}}
  resources:
`+existing("zone[a]", "", "role: a.b.c, unsafeVars: {name: a}")+existing("zone[b]", "", "role: a.b.c, unsafeVars: {name: b}")+
		existing("app", "zone[]", "role: a.b.c, unsafeVars: {zones: [a]}")+existing("other", "", "role: a.b.c, vars: {size: 1}"))

	second := proto.CloneOf(req)
	second.Input = request(t, `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  runs: [{name: other, role: a.b.c, vars: {size: 1}}]
`).GetInput()

	for _, r := range []*fnv1.RunFunctionRequest{req, second} {
		rsp, err := newFunction(t).RunFunction(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}

		if second.Desired = rsp.GetDesired(); second.GetDesired().GetResources()["zone[b]"] != nil {
			t.Errorf("RunFunction(...): want zone[b] removed, got %v", rsp.GetConditions())
		}
	}

	if second.GetDesired().GetResources()["app"] == nil {
		t.Error("RunFunction(...): want the runs of the earlier step")
	}
}
