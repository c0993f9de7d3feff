package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// TestEnvironment gives plays environment variables: of the configuration, of the run, and from an XR.
func TestEnvironment(t *testing.T) {
	t.Parallel()

	d := struct{ Namespace, Directory, Key, Region, Zone string }{cp.Namespace(t), directory(t), "k3y-of-the-cloud", "eu", "b"}
	ledger := filepath.Join(d.Directory, "ledger")

	const config = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: env}
spec:
  vars: {CLOUD_REGION: nowhere, CLOUD_ZONE: a, CLOUD_URL: u}
  env:
  - {name: CLOUD_REGION, value: somewhere}
  - {name: CLOUD_ZONE, value: [[.Zone]]}
`
	const secret = `
apiVersion: v1
kind: Secret
metadata: {namespace: [[.Namespace]], name: cloud-eu}
stringData: {key: [[.Key]]}
`

	objs := cp.Apply(t, definition{kind: "Cloud", scope: "Namespaced", spec: "region: {type: string}, directory: {type: string}"}.String()+`
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: clouds}
spec:
  compositeTypeRef: {apiVersion: e2e.example.org/v1, kind: Cloud}
  mode: Pipeline
  pipeline:
  - step: runs
    functionRef: {name: function-ansible}
    input:
      apiVersion: ansible.fn.crossplane.io/v1alpha1
      kind: AnsibleRuns
      runs:
      - name: cloud
        runPolicy: RunOnChange
        providerConfigRef: {kind: ProviderConfig, name: env}
        env:
        - {name: CLOUD_REGION, value: "${xr.spec.region}"}
        - {name: CLOUD_KEY, valueFrom: {secretKeyRef: {name: "cloud-${xr.spec.region}", key: key}}}
        vars: {directory: "${xr.spec.directory}"}
        playbookInline: |
          - hosts: localhost
            gather_facts: false
            tasks:
            - ansible.builtin.shell: echo "$CLOUD_REGION $CLOUD_KEY $CLOUD_ZONE $CLOUD_URL" >> {{ directory }}/ledger
            - ansible.builtin.set_stats:
                data: {key: "{{ lookup('env', 'CLOUD_KEY') }}"}
---`+config+`---
`+strings.TrimSpace(secret)+`
---
apiVersion: e2e.example.org/v1
kind: Cloud
metadata: {namespace: [[.Namespace]], name: cloud}
spec: {region: "[[.Region]]", directory: "[[.Directory]]"}
`, d)
	xr := objs[len(objs)-1]
	cp.WaitFor(t, xr, Condition("Ready", "True"))

	run := composedRun(t, xr)
	if text := cp.YAML(t.Context(), run); strings.Contains(text, d.Key) {
		t.Errorf("No value of a Secret should be on the object:\n%s", text)
	}

	// A new value is a change.
	d.Key = "an0ther-key"
	cp.Apply(t, secret, d)
	cp.WaitFor(t, run, Field("status.atProvider.lastRun.trigger", "Changed"), Field("status.atProvider.lastRun.phase", "Succeeded"), Condition("Ready", "True"))

	// So is another configuration.
	d.Zone = "c"
	cp.Apply(t, config, d)
	Eventually(t, "the run with the changed configuration", func() bool {
		return strings.HasSuffix(readFile(t, ledger), " c u\n")
	})
	cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.lastRun.phase", "Succeeded"))

	if got, want := readFile(t, ledger), "eu k3y-of-the-cloud b u\neu an0ther-key b u\neu an0ther-key c u\n"; got != want {
		t.Errorf("The run wins over the configuration, whose env wins over its vars; want %q, got %q", want, got)
	}
}
