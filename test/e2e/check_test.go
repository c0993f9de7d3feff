package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// page is an AnsibleRun that is checked before it is applied.
const page = emptyConfig + `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata:
  namespace: [[.Namespace]]
  name: page
  annotations: {ansible.crossplane.io/runPolicy: CheckWhenObserve}
spec:
  managementPolicies: [[.Marker]]
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    vars: {file: "[[.Directory]]/page"}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Write the page
          ansible.builtin.copy: {dest: "{{ file }}", content: Hello}
          when: ansible_provider_meta.managed_resource.state == 'present'
        - name: Remove the page
          ansible.builtin.file: {path: "{{ file }}", state: absent}
          when: ansible_provider_meta.managed_resource.state == 'absent'
`

// requestRun of an AnsibleRun in a namespace.
func requestRun(t *testing.T, namespace, name, token string) {
	t.Helper()
	cp.Kubectl(t, "annotate", "--overwrite", "ansibleruns.ansible.m.crossplane.io", "-n", namespace, name, "crossplane.io/reconcile-requested-at="+token)
}

// TestPreview shows what would change where it may not be.
func TestPreview(t *testing.T) {
	t.Parallel()

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Marker: `[Observe]`}
	run := cp.Apply(t, page, d)[1]
	file := filepath.Join(d.Directory, "page")

	cp.WaitFor(t, run, Condition("Synced", "True"), Condition("Ready", "False"), Reason("Ready", "NotApplied"),
		Field("status.atProvider.lastRun.mode", "Check"), Field("status.atProvider.lastRun.phase", "Succeeded"),
		Field("status.atProvider.drift.changed", 1))
	if exists(file) {
		t.Error("A preview should change nothing.")
	}
	if task := drifted(t, run); task["task"] != "Write the page" || task["host"] != "localhost" || !strings.Contains(fmt.Sprint(task["diff"]), "+Hello") {
		t.Errorf("The drift should name the task and the host, and show the difference, got %v", task)
	}

	// It may be created, but not updated.
	d.Marker = `[Observe, Create, Delete]`
	cp.Apply(t, page, d)
	cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"), Field("status.atProvider.lastRun.mode", "Apply"), Field("status.atProvider.drift", nil))
	if err := os.WriteFile(file, []byte("Goodbye"), 0o600); err != nil {
		t.Fatal(err)
	}
	requestRun(t, d.Namespace, "page", "now")
	cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"), Field("status.atProvider.handledRequest", "now"), Field("status.atProvider.drift.changed", 1))
	if got := readFile(t, file); got != "Goodbye" {
		t.Errorf("What may not be updated should stay: got %q", got)
	}
}

// TestNotCheckable shows content of which a check cannot tell anything.
func TestNotCheckable(t *testing.T) {
	t.Parallel()

	d := runData{Namespace: cp.Namespace(t)}
	run := cp.Apply(t, emptyConfig+`
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: run, annotations: {ansible.crossplane.io/runPolicy: CheckWhenObserve}}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks: [{ansible.builtin.command: "true"}]
`, d)[1]
	cp.WaitFor(t, run, Condition("Checkable", "False"), Reason("Checkable", "NotCheckable"), Condition("Ready", "False"), Condition("Synced", "True"))
	if got := Value(cp.Get(t, run), "status.atProvider.lastApply"); got != nil {
		t.Errorf("Nothing should have been applied, got %v", got)
	}
}

// drifted is the first task that would change something.
func drifted(t *testing.T, run Object) map[string]any {
	t.Helper()
	tasks, ok := Value(cp.Get(t, run), "status.atProvider.drift.tasks").([]any)
	if !ok || len(tasks) == 0 {
		t.Fatal("The drift should have tasks.")
	}
	task, _ := tasks[0].(map[string]any)
	return task
}
