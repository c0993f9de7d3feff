package e2e

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// unaware is a playbook that does the same in both states, as most do that were written for ansible-playbook.
const unaware = emptyConfig + theRun + `
    vars: {directory: "[[.Directory]]"}
    varFiles: [{source: Secret, secretRef: {name: page}}]
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - ansible.builtin.copy: {dest: "{{ directory }}/page", content: "Hello\n"}
`

// restored is an object as a backup brings it back, and which is not looked at yet.
const restored = emptyConfig + `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata:
  namespace: [[.Namespace]]
  name: run
  annotations:
    crossplane.io/paused: "true"
    crossplane.io/external-name: run
    crossplane.io/external-create-pending: "2026-01-01T00:00:00Z"
    crossplane.io/external-create-succeeded: "2026-01-01T00:00:01Z"
  finalizers: [finalizer.managedresource.crossplane.io]
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    vars: {directory: "[[.Directory]]"}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - ansible.builtin.shell: echo {{ ansible_provider_meta.managed_resource.state }} >> {{ directory | quote }}/ledger
`

// TestDeletion deletes objects of which nothing is to be removed, and one that was adopted.
func TestDeletion(t *testing.T) {
	t.Parallel()

	remove := func(t *testing.T, d data) {
		t.Helper()
		cp.Kubectl(t, "delete", "--wait=false", "--namespace="+d.Namespace, "ansiblerun.ansible.m.crossplane.io/run")
	}
	resume := func(t *testing.T, d data, annotations ...string) {
		t.Helper()
		cp.Kubectl(t, append([]string{
			"annotate", "--namespace=" + d.Namespace, "ansiblerun.ansible.m.crossplane.io/run", "crossplane.io/paused-",
		}, annotations...)...)
	}

	t.Run("Unaware", func(t *testing.T) {
		t.Parallel()

		d := data{Namespace: cp.Namespace(t), Directory: directory(t)}
		run := cp.Apply(t, unaware, d)[1]
		cp.Kubectl(t, "create", "secret", "generic", "page", "--namespace="+d.Namespace, "--from-literal=title=Hello")
		cp.WaitFor(t, run, Condition("Ready", "True"), Reason("StateAware", "StateIgnored"))

		// The deletion of a namespace removes its Secrets in any order.
		needs.OK(t, os.Remove(filepath.Join(d.Directory, "page")))
		cp.Kubectl(t, "delete", "secret", "page", "--namespace="+d.Namespace)
		remove(t, d)
		cp.WaitGone(t, run)
		waitForEvent(t, run, "NothingRemoved", 1, "ansible_provider_meta does not occur")

		if exists(filepath.Join(d.Directory, "page")) {
			t.Error("The content should not be applied once more, as the event says.")
		}
	})

	t.Run("Restored", func(t *testing.T) {
		t.Parallel()

		d := data{Namespace: cp.Namespace(t), Directory: directory(t)}
		run := cp.Apply(t, restored, d)[1]

		remove(t, d)
		resume(t, d)
		cp.WaitGone(t, run)

		if exists(filepath.Join(d.Directory, "ledger")) {
			t.Errorf("What has never run here should remove nothing, got %q", readFile(t, filepath.Join(d.Directory, "ledger")))
		}
	})

	t.Run("Adopted", func(t *testing.T) {
		t.Parallel()

		d := data{Namespace: cp.Namespace(t), Directory: directory(t)}
		run := cp.Apply(t, restored, d)[1]

		resume(t, d, "ansible.crossplane.io/adopt=true")
		cp.WaitFor(t, run, Condition("Ready", "True"))
		waitForEvent(t, run, "Adopted", 1, "recorded")

		remove(t, d)
		cp.WaitGone(t, run)

		if got := readFile(t, filepath.Join(d.Directory, "ledger")); got != "absent\n" {
			t.Errorf("Only the deletion should run, got %q", got)
		}
	})
}
