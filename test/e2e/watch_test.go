package e2e

import (
	"path/filepath"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// watched is an AnsibleRun that a poll would not run again.
const watched = `
apiVersion: ansible.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {name: watched-[[.Namespace]]}
spec:
  credentials:
  - filename: password
    source: Secret
    secretRef: {namespace: [[.Namespace]], name: password, key: password}
---
apiVersion: ansible.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {name: watched-[[.Namespace]], annotations: {ansible.crossplane.io/runPolicy: RunOnChange}}
spec:
  providerConfigRef: {name: watched-[[.Namespace]]}
  forProvider:
    vars: {file: "[[.Directory]]/page", footer: ""}
    varFiles:
    - {source: ConfigMapKey, configMapKeyRef: {namespace: [[.Namespace]], name: page, key: vars.yaml}}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - ansible.builtin.copy: {dest: "{{ file }}", content: "{{ title }} {{ lookup('file', 'password') | length }}"}
        - ansible.builtin.set_stats: {data: {title: "{{ title }}", length: "{{ lookup('file', 'password') | length }}"}}
`

// What it refers to.
const (
	watchedVars = `
apiVersion: v1
kind: ConfigMap
metadata: {namespace: [[.Namespace]], name: page}
data: {vars.yaml: "title: [[.Title]]"}
`
	watchedPassword = `
apiVersion: v1
kind: Secret
metadata: {namespace: [[.Namespace]], name: password}
stringData: {password: "[[.Source]]"}
`
)

// TestReferencesAreWatched changes what a cluster scoped AnsibleRun refers to, and expects a run long before the next poll.
func TestReferencesAreWatched(t *testing.T) {
	t.Parallel()

	d := data{Namespace: cp.Namespace(t), Directory: directory(t), Title: "one", Source: "1"}
	run := cp.Apply(t, watched, d)[1]

	cp.WaitFor(t, run, Condition("Synced", "False"), Message("Synced", `spec.forProvider.varFiles[0]: ConfigMap "`+d.Namespace+`/page" not found`),
		Message("Synced", `spec.credentials[0]: Secret "`+d.Namespace+`/password" not found`))

	cp.Apply(t, watchedPassword, d)
	cp.Apply(t, watchedVars, d)
	cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"), Field("status.atProvider.outputs.title", "one"))

	d.Title = "two"
	cp.Apply(t, watchedVars, d)
	cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.outputs.title", "two"), Field("status.atProvider.lastRun.trigger", "Changed"))

	d.Source = "22"
	cp.Apply(t, watchedPassword, d)
	cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.outputs.length", 2), Field("status.atProvider.lastRun.trigger", "Changed"))

	if got := readFile(t, filepath.Join(d.Directory, "page")); got != "two 2" {
		t.Errorf("The page should have what was written last: got %q", got)
	}

	cp.Delete(t, Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: d.Namespace, Name: "page"})
	cp.WaitFor(t, run, Condition("Synced", "False"), Message("Synced", "not found"))
	cp.Apply(t, watchedVars, d)
	cp.WaitFor(t, run, Condition("Synced", "True"), Condition("Ready", "True"))

	// It has to be gone before the files are: its deletion needs them.
	cp.Delete(t, run)
	cp.WaitGone(t, run)
}
