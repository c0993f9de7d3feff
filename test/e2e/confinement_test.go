package e2e

import (
	"strings"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// TestConfinement shows what content can reach in the provider, and which configurations may grant
// it more.
func TestConfinement(t *testing.T) {
	needsProvider(t, "a Pod has neither the disk nor the processes of the provider")
	t.Parallel()

	d := struct{ Namespace, Kubeconfig, State, Granted string }{
		Namespace: cp.Namespace(t), Kubeconfig: cp.Stack.ProviderKubeconfig(), State: cp.Stack.StateDir(),
		Granted: "/tmp/crossplane-ansible",
	}

	err := cp.ApplyError(t, `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: refused}
spec: {confinement: {serviceAccount: true}}
`, d)
	if want := "only cluster scoped configurations may have confinement"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("A namespace should not grant itself the provider's machine: want an error with %q, got %v", want, err)
	}

	objs := cp.Apply(t, `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ClusterProviderConfig
metadata: {name: [[.Namespace]]}
spec: {confinement: {writePaths: ["[[.Granted]]"]}}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: run, annotations: {ansible.crossplane.io/runPolicy: RunOnChange}}
spec:
  providerConfigRef: {kind: ClusterProviderConfig, name: [[.Namespace]]}
  forProvider:
    vars: {page: "[[.Granted]]/[[.Namespace]]", kubeconfig: [[.Kubeconfig]], state: [[.State]]}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - ansible.builtin.copy: {dest: "{{ page }}", content: Hello}
        - ansible.builtin.file: {path: "{{ page }}", state: absent}
        - {ansible.builtin.slurp: {src: "{{ kubeconfig }}"}, register: kubeconfig_read, ignore_errors: true}
        - {ansible.builtin.command: "ls {{ state }}", register: state_listed, ignore_errors: true}
        - {ansible.builtin.command: "ls /proc", register: processes, ignore_errors: true}
        - ansible.builtin.set_stats:
            data: {denied: "{{ [kubeconfig_read, state_listed, processes] | select('failed') | length }}"}
`, d)
	cp.WaitFor(t, objs[1], Condition("Ready", "True"), Field("status.atProvider.outputs.denied", 3))

	refused := cp.Apply(t, `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ClusterProviderConfig
metadata: {name: [[.Namespace]]-state}
spec: {confinement: {readPaths: ["[[.State]]"]}}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: state, annotations: {ansible.crossplane.io/runPolicy: RunOnChange}}
spec:
  providerConfigRef: {kind: ClusterProviderConfig, name: [[.Namespace]]-state}
  forProvider: {retryLimit: 1, playbookInline: "- hosts: localhost"}
`, d)
	cp.WaitFor(t, refused[1], Field("status.atProvider.lastRun.reason", "InvalidInputs"))
}
