package main

import (
	"context"
	"testing"
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
