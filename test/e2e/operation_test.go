package e2e

import (
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// TestWatchOperation lets core run content whenever something changes that it
// watches, with what has changed as variables.
func TestWatchOperation(t *testing.T) {
	t.Parallel()

	d := data{Namespace: cp.Namespace(t)}
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
