package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// page is an AnsibleRun that is checked before it is applied.
const page = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec: {}
---
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

// TestCheckWhenObserve applies what a check says would change, and nothing else.
func TestCheckWhenObserve(t *testing.T) {
	t.Parallel()

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Marker: `["*"]`}
	run := cp.Apply(t, page, d)[1]
	file := filepath.Join(d.Directory, "page")

	u := cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"), Field("status.atProvider.lastRun.mode", "Apply"),
		Field("status.atProvider.lastRun.trigger", "Created"))
	apply := field(u, "status.atProvider.lastApply.id")
	if got := readFile(t, file); got != "Hello" {
		t.Errorf("The page should have been written: got %q", got)
	}

	// Nothing has changed.
	requestRun(t, d.Namespace, "page", "first")
	u = cp.WaitFor(t, run, Field("status.atProvider.handledRequest", "first"), Field("status.atProvider.lastRun.mode", "Check"), Condition("Ready", "True"))
	if got := field(u, "status.atProvider.lastApply.id"); got != apply {
		t.Errorf("A check should not touch lastApply: it was of run %v, and is of %v", apply, got)
	}

	// Somebody has changed the page.
	if err := os.WriteFile(file, []byte("Goodbye"), 0o600); err != nil {
		t.Fatal(err)
	}
	requestRun(t, d.Namespace, "page", "second")
	cp.WaitFor(t, run, Field("status.atProvider.handledRequest", "second"), Field("status.atProvider.lastRun.mode", "Apply"),
		Field("status.atProvider.lastRun.trigger", "Drift"), Field("status.atProvider.lastRun.phase", "Succeeded"), Condition("Ready", "True"))
	if got := readFile(t, file); got != "Hello" {
		t.Errorf("The page should have been put right: got %q", got)
	}

	cp.Delete(t, run)
	cp.WaitGone(t, run)
	if exists(file) {
		t.Error("The page should have been removed for real.")
	}
}

// TestPreview shows what would change where nothing may.
func TestPreview(t *testing.T) {
	t.Parallel()

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Marker: `[Observe]`}
	run := cp.Apply(t, page, d)[1]

	cp.WaitFor(t, run, Condition("Synced", "True"), Condition("Ready", "False"),
		Field("status.atProvider.lastRun.mode", "Check"), Field("status.atProvider.lastRun.phase", "Succeeded"),
		Field("status.atProvider.drift.changed", 1))
	if exists(filepath.Join(d.Directory, "page")) {
		t.Error("A preview should change nothing.")
	}
	if task := drifted(t, run); task["task"] != "Write the page" || task["host"] != "localhost" {
		t.Errorf("The drift should name the task and the host, got %v", task)
	}
}

// TestNotCheckable shows content of which a check cannot tell anything.
func TestNotCheckable(t *testing.T) {
	t.Parallel()

	d := runData{Namespace: cp.Namespace(t)}
	run := cp.Apply(t, `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec: {}
---
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
	if got := field(cp.Get(t, run), "status.atProvider.lastApply"); got != nil {
		t.Errorf("Nothing should have been applied, got %v", got)
	}
}

// drifted is the first task that would change something.
func drifted(t *testing.T, run Object) map[string]any {
	t.Helper()
	tasks, ok := field(cp.Get(t, run), "status.atProvider.drift.tasks").([]any)
	if !ok || len(tasks) == 0 {
		t.Fatal("The drift should have tasks.")
	}
	task, _ := tasks[0].(map[string]any)
	return task
}
