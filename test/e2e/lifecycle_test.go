package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// waiting is a play that notes each of its runs, and ends when it is let go.
const waiting = emptyConfig + `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: run}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    vars: {directory: "[[.Directory]]"}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Note the run
          ansible.builtin.shell: echo run >> {{ directory | quote }}/ledger
        - name: Leave something behind
          ansible.builtin.command: sleep [[.Marker]]
          async: 999999
          poll: 0
          when: (directory ~ '/go') is not exists
        - name: Wait to be let go
          ansible.builtin.wait_for: {path: "{{ directory }}/go", timeout: 300}
          when: ansible_provider_meta.managed_resource.state == 'present'
`

// begin the play that waits, and return its object and the id of its run.
func begin(t *testing.T, d runData) (Object, string) {
	t.Helper()
	run := cp.Apply(t, waiting, d)[1]
	cp.WaitFor(t, run, Field("status.atProvider.lastRun.phase", "Running"))
	Eventually(t, "the play to have started all of its processes", func() bool {
		return len(commands(t, d.Marker)) > 0 && exists(filepath.Join(d.Directory, "ledger"))
	})
	return run, fmt.Sprint(Value(cp.Get(t, run), "status.atProvider.lastRun.id"))
}

// marker is an argument of sleep that no other process has.
func marker() string {
	return fmt.Sprintf("91%06d", time.Now().UnixNano()%1e6)
}

// nothingLeft of any run.
func nothingLeft(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(filepath.Join(cp.Stack.StateDir(), "runs"))
	if err != nil {
		t.Fatalf("cannot list the private data directories: %s", err)
	}
	if len(left) > 0 {
		t.Errorf("No private data directory should be left, got %v", left)
	}
}

// TestProviderKilled kills the provider in the middle of a run, an async task of
// the play included.
func TestProviderKilled(t *testing.T) {
	needsProvider(t, "a run in a Pod goes on, which test/pods tests")
	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Marker: marker()}
	run, first := begin(t, d)

	cp.Provider.Kill(t)
	Eventually(t, "all processes of the run to be gone", func() bool {
		return len(commands(t, d.Marker)) == 0 && len(commands(t, first)) == 0
	})
	touch(t, filepath.Join(d.Directory, "go"))
	cp.Provider.Start(t)

	cp.WaitFor(t, run, Field("status.atProvider.lastRun.id", first), Field("status.atProvider.lastRun.phase", "Interrupted"),
		Field("status.atProvider.lastApply.result", "Interrupted"), Condition("Ready", "False"))
	cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"),
		Field("status.atProvider.lastRun.trigger", "Retry"), Field("status.atProvider.lastApply.attempts", 1))

	if got := readFile(t, filepath.Join(d.Directory, "ledger")); got != "run\nrun\n" {
		t.Errorf("The play should have been run twice, got %q", got)
	}
	nothingLeft(t)
}

// TestProviderStopped stops the provider as Kubernetes does, in the middle of a
// run that ends within the grace period.
func TestProviderStopped(t *testing.T) {
	needsProvider(t, "the provider does not wait for a run in a Pod")
	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Marker: marker()}
	run, first := begin(t, d)

	// The run is let go when the provider has been told to stop.
	stopped := make(chan error, 1)
	before := strings.Count(cp.Provider.Log(t), "Stopping")
	go func() { stopped <- cp.Provider.Piece.Stop(t.Context()) }()
	Eventually(t, "the provider to be stopping", func() bool {
		return strings.Count(cp.Provider.Log(t), "Stopping") > before
	})
	touch(t, filepath.Join(d.Directory, "go"))
	if err := <-stopped; err != nil {
		t.Fatalf("cannot stop the provider: %s", err)
	}

	cp.WaitFor(t, run, Field("status.atProvider.lastRun.id", first), Field("status.atProvider.lastRun.phase", "Succeeded"), Condition("Ready", "True"))
	if left := commands(t, d.Marker); len(left) > 0 {
		t.Errorf("Nothing of the run should be left, got %v", left)
	}
	nothingLeft(t)

	cp.Provider.Start(t)
	if got := readFile(t, filepath.Join(d.Directory, "ledger")); got != "run\n" {
		t.Errorf("The play should have been run once, got %q", got)
	}
}

// TestDeletedWhileRunning deletes an object in the middle of a run, which is
// canceled before the absent run begins.
func TestDeletedWhileRunning(t *testing.T) {
	t.Parallel()

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Marker: marker()}
	run, first := begin(t, d)

	cp.Delete(t, run)
	Eventually(t, "all processes of the run to be gone", func() bool { return len(commands(t, first)) == 0 })
	cp.WaitGone(t, run)

	if got := readFile(t, filepath.Join(d.Directory, "ledger")); got != "run\nrun\n" {
		t.Errorf("The play should have been run once, and once with state absent, got %q", got)
	}
	if left := commands(t, d.Marker); len(left) > 0 {
		t.Errorf("Nothing of either run should be left, got %v", left)
	}
}

// TestDeletedBeforeAnythingWasDone deletes objects whose content has never done
// anything, and of which no run with state absent would succeed, either.
func TestDeletedBeforeAnythingWasDone(t *testing.T) {
	t.Parallel()

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t)}
	objects := cp.Apply(t, emptyConfig+`
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: missing}
spec:
  requirements: |
    collections: [{name: "[[.Directory]]/missing-1.0.0.tar.gz", type: file}]
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: not-installed}
spec:
  providerConfigRef: {kind: ProviderConfig, name: missing}
  forProvider: {role: acme.site.first}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: misspelt}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider: {role: acme.site.frist, retryLimit: 1} # What is canceled may have done something.
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: no-hosts}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    retryLimit: 1
    playbookInline: |
      - hosts: nobody
        tasks:
        - ansible.builtin.debug:
`, d)
	notInstalled, misspelt, noHosts := objects[2], objects[3], objects[4]
	cp.WaitFor(t, notInstalled, Condition("Synced", "False"), Field("status.atProvider.lastRun.reason", "InstallFailed"))
	cp.WaitFor(t, misspelt, Condition("Synced", "False"), Field("status.atProvider.lastRun.reason", "PlaybookError"))
	cp.WaitFor(t, noHosts, Condition("Synced", "False"), Field("status.atProvider.lastRun.reason", "NoHostsMatched"))

	for _, o := range objects[2:] {
		cp.Delete(t, o)
	}
	for _, o := range objects[2:] {
		cp.WaitGone(t, o)
	}
}

// TestLeaderElection lets the provider lead before it reconciles.
func TestLeaderElection(t *testing.T) {
	cp.Provider.Restart(t, "--leader-election")

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Marker: marker()}
	touch(t, filepath.Join(d.Directory, "go"))
	run := cp.Apply(t, waiting, d)[1]
	cp.WaitFor(t, run, Condition("Ready", "True"))

	out := cp.Kubectl(t, "get", "lease", "-n", "crossplane-system", "crossplane-leader-election-provider-ansible", "-o", "jsonpath={.spec.holderIdentity}")
	if out == "" {
		t.Error("The provider should hold the lease.")
	}
}

// TestOrphanedWhileRunning deletes an object whose target is to stay as it is in
// the middle of a run.
func TestOrphanedWhileRunning(t *testing.T) {
	t.Parallel()

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Marker: marker()}
	run, _ := begin(t, d)

	cp.Kubectl(t, "patch", "ansibleruns.ansible.m.crossplane.io", "-n", d.Namespace, run.Name, "--type=merge", "-p", `{"spec":{"managementPolicies":["Observe","Create","Update"]}}`)
	cp.Delete(t, run)
	cp.WaitFor(t, run, Message("Synced", "waiting for the end of the run in progress"))

	touch(t, filepath.Join(d.Directory, "go"))
	cp.WaitGone(t, run)
	if got := readFile(t, filepath.Join(d.Directory, "ledger")); got != "run\n" {
		t.Errorf("The play should have been run once, got %q", got)
	}
}

// TestGoneWhileRunning removes the finalizers of an object in the middle of a run, so that it is
// gone before the run ends.
func TestGoneWhileRunning(t *testing.T) {
	t.Parallel()

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Marker: marker()}
	run, first := begin(t, d)

	cp.Kubectl(t, "patch", "ansibleruns.ansible.m.crossplane.io", "-n", d.Namespace, run.Name, "--type=merge", "-p", `{"spec":{"managementPolicies":[]}}`)
	cp.WaitFor(t, run, Reason("Synced", "ReconcilePaused"))
	cp.Delete(t, run)
	cp.Kubectl(t, "patch", "ansibleruns.ansible.m.crossplane.io", "-n", d.Namespace, run.Name, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	cp.WaitGone(t, run)
	Eventually(t, "all processes of the run to be gone", func() bool {
		return len(commands(t, d.Marker)) == 0 && len(commands(t, first)) == 0
	})
}
