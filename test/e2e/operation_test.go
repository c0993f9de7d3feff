package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// TestOperation lets core run content again and again, each time with other inputs,
// and tries an Operation again of which only a part could be applied.
func TestOperation(t *testing.T) {
	t.Parallel()

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Marker: "first"}
	cp.Apply(t, `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec: {}
`, d)

	const input = `
apiVersion: ops.crossplane.io/v1alpha1
kind: Operation
metadata: {name: "[[.Namespace]]-[[.Marker]]"}
spec:
  retryLimit: 20
  mode: Pipeline
  pipeline:
  - step: ansible
    functionRef: {name: function-ansible}
    input:
      apiVersion: ansible.fn.crossplane.io/v1alpha1
      kind: AnsibleRuns
      defaults:
        namespace: [[.Namespace]]
        providerConfigRef: {kind: ProviderConfig, name: default}
        managementPolicies: [Observe, Create, Update]
        runPolicy: RunOnChange
`
	ledger := filepath.Join(d.Directory, "ledger")
	run := Object{APIVersion: "ansible.m.crossplane.io/v1alpha1", Kind: "AnsibleRun", Namespace: d.Namespace, Name: "note"}
	t.Cleanup(func() { cp.CleanUp(t, run) })

	// One of the others is of a namespace that is not there yet: core tries again until
	// it is.
	first := cp.Apply(t, input+`
      runs:
      - name: note
        labels: {first: "true"}
        vars: {directory: "[[.Directory]]", first: 1}
        playbookInline: |
          - hosts: localhost
            gather_facts: false
            tasks: [{ansible.builtin.shell: "echo first >> {{ directory | quote }}/ledger"}]
      - {name: other, namespace: "[[.Namespace]]-later", vars: {a: 1}, playbookInline: "[{hosts: localhost, gather_facts: false, tasks: []}]"}
      - {name: never, vars: {address: "${environment.address}"}, playbookInline: "[{hosts: localhost, gather_facts: false, tasks: []}]"}
`, d)[0]
	cp.WaitFor(t, run, Condition("Ready", "True"))
	cp.WaitFor(t, first, That("to have failed", func(u *unstructured.Unstructured) bool { return Value(u, "status.failures") != nil }))
	cp.Apply(t, `{apiVersion: v1, kind: Namespace, metadata: {name: "[[.Namespace]]-later"}}`, d)

	other := Object{APIVersion: run.APIVersion, Kind: run.Kind, Namespace: d.Namespace + "-later", Name: "other"}
	t.Cleanup(func() { cp.CleanUp(t, other) })

	done := cp.WaitFor(t, first, Condition("Succeeded", "True"))
	if text := fmt.Sprint(Value(done, "status.pipeline")); !strings.Contains(text, "notRun") || !strings.Contains(text, "never") {
		t.Errorf("The output should say what was not run, it is %s", text)
	}

	cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.handledRequest", string(done.GetUID())))

	d.Marker = "second"
	second := cp.WaitFor(t, cp.Apply(t, input+`
      runs:
      - name: note
        vars: {directory: "[[.Directory]]"}
        playbookInline: |
          - hosts: localhost
            gather_facts: false
            tasks: [{ansible.builtin.shell: "echo second {{ first | default('') }} >> {{ directory | quote }}/ledger"}]
`, d)[0], Condition("Succeeded", "True"))
	now := cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.handledRequest", string(second.GetUID())))

	if now.GetLabels()["first"] != "" {
		t.Error("A label that the last Operation does not set should be gone")
	}

	if got, err := os.ReadFile(ledger); err != nil || strings.Join(strings.Fields(string(got)), " ") != "first second" {
		t.Errorf("Each Operation should start its run once, with its own variables: got %q, %v", got, err)
	}
}

// TestWatchOperation lets core run content whenever something changes that it
// watches, with what has changed as variables.
func TestWatchOperation(t *testing.T) {
	t.Parallel()

	d := runData{Namespace: cp.Namespace(t)}
	settings := cp.Apply(t, emptyConfig+`
apiVersion: v1
kind: ConfigMap
metadata: {namespace: [[.Namespace]], name: inventory, labels: {restarts: [[.Namespace]]}}
data: {color: blue}
---
apiVersion: ops.crossplane.io/v1alpha1
kind: WatchOperation
metadata: {name: [[.Namespace]]}
spec:
  watch: {apiVersion: v1, kind: ConfigMap, namespace: [[.Namespace]], matchLabels: {restarts: [[.Namespace]]}}
  operationTemplate:
    spec:
      mode: Pipeline
      pipeline:
      - step: ansible
        functionRef: {name: function-ansible}
        input:
          apiVersion: ansible.fn.crossplane.io/v1alpha1
          kind: AnsibleRuns
          runs:
          - name: restart
            forEach: "${[required.watched.metadata.name]}"
            namespace: [[.Namespace]]
            providerConfigRef: {kind: ProviderConfig, name: default}
            managementPolicies: [Observe, Create, Update]
            runPolicy: RunOnChange
            vars: {color: "${required.watched.data.color}"}
            playbookInline: |
              - hosts: localhost
                gather_facts: false
                tasks:
                - ansible.builtin.set_stats: {data: {painted: "{{ color }}"}}
`, d)[1]

	run := Object{APIVersion: "ansible.m.crossplane.io/v1alpha1", Kind: "AnsibleRun", Namespace: d.Namespace, Name: "restart-inventory"}
	cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.outputs.painted", "blue"))

	cp.Kubectl(t, "patch", "configmap", "-n", d.Namespace, settings.Name, "--type=merge", "-p", `{"data":{"color":"green"}}`)
	cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.outputs.painted", "green"))

	cp.Delete(t, run)
	cp.WaitGone(t, run)
}
