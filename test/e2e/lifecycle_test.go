package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// waiting is a play that notes each of its runs, and ends when it is let go.
const waiting = emptyConfig + theRun + `
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
func begin(t *testing.T, d data) (Object, string) {
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
	needs.OK(t, err)
	if len(left) > 0 {
		t.Errorf("No private data directory should be left, got %v", left)
	}
}

// TestRestarts ends the provider in each way in the middle of a run. All that restarts the provider is here: nothing else
// can happen meanwhile.
func TestRestarts(t *testing.T) {
	needsProvider(t, "a run in a Pod goes on, and installs its content itself, which test/pods tests")

	t.Run("Killed", killed)
	t.Run("Stopped", stopped)

	// The next provider gives runs no time to end.
	cp.Provider.Restart(t, "--shutdown-grace-period=1s")
	t.Run("Canceled", canceled)
}

// killed ends the provider with SIGKILL. Its run ends, too, an async task of the play included.
func killed(t *testing.T) {
	d := data{Namespace: cp.Namespace(t), Directory: directory(t), Marker: marker()}
	run, first := begin(t, d)

	cp.Provider.Kill(t)
	Eventually(t, "all processes of the run to be gone", func() bool {
		return len(commands(t, d.Marker)) == 0 && len(commands(t, first)) == 0
	})
	touch(t, filepath.Join(d.Directory, "go"))
	cp.Provider.Start(t)

	waitForEvent(t, run, "RunInterrupted", 1, "the provider ended")
	cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"),
		Field("status.atProvider.lastRun.trigger", "Retry"), Field("status.atProvider.lastApply.attempts", 1))
	waitForEvent(t, run, "RunSucceeded", 1, "present run succeeded")

	if got := readFile(t, filepath.Join(d.Directory, "ledger")); got != "run\nrun\n" {
		t.Errorf("The play should have been run twice, got %q", got)
	}
	nothingLeft(t)
}

// stopped ends the provider as Kubernetes does. The run ends within the grace period.
func stopped(t *testing.T) {
	d := data{Namespace: cp.Namespace(t), Directory: directory(t), Marker: marker()}
	run, first := begin(t, d)

	// The run is let go when the provider has been told to stop.
	ended := make(chan error, 1)
	before := strings.Count(cp.Provider.Log(t), "Stopping")
	go func() { ended <- cp.Provider.Piece.Stop(t.Context()) }()
	Eventually(t, "the provider to be stopping", func() bool {
		return strings.Count(cp.Provider.Log(t), "Stopping") > before
	})
	touch(t, filepath.Join(d.Directory, "go"))
	needs.OK(t, <-ended)

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

// canceled ends the provider when it gives the run no time. The result of that is an event all the same.
func canceled(t *testing.T) {
	d := data{Namespace: cp.Namespace(t), Directory: directory(t), Marker: marker()}
	run, _ := begin(t, d)

	cp.Provider.Stop(t)
	waitForEvent(t, run, "RunCanceled", 1, `canceled during task "Wait to be let go"`)
	touch(t, filepath.Join(d.Directory, "go"))
	cp.Provider.Start(t)
	cp.WaitFor(t, run, Condition("Ready", "True"))
}

// TestDeletedWhileRunning deletes two objects in the middle of their runs. One run is canceled before the absent run begins.
// The target of the other one is to stay as it is: its run goes on.
func TestDeletedWhileRunning(t *testing.T) {
	t.Parallel()

	d := data{Namespace: cp.Namespace(t), Directory: directory(t), Marker: marker()}
	run, first := begin(t, d)
	orphaned := data{Namespace: cp.Namespace(t), Directory: directory(t), Marker: marker()}
	orphan, _ := begin(t, orphaned)

	cp.Patch(t, orphan, `{"spec":{"managementPolicies":["Observe","Create","Update"]}}`)
	cp.Delete(t, orphan)
	cp.Delete(t, run)

	Eventually(t, "all processes of the run to be gone", func() bool { return len(commands(t, first)) == 0 })
	cp.WaitGone(t, run)

	if got := readFile(t, filepath.Join(d.Directory, "ledger")); got != "run\nrun\n" {
		t.Errorf("The play should have been run once, and once with state absent, got %q", got)
	}
	if left := commands(t, d.Marker); len(left) > 0 {
		t.Errorf("Nothing of either run should be left, got %v", left)
	}

	cp.WaitFor(t, orphan, Message("Synced", "waiting for the end of the run in progress"))
	touch(t, filepath.Join(orphaned.Directory, "go"))
	cp.WaitGone(t, orphan)

	if got := readFile(t, filepath.Join(orphaned.Directory, "ledger")); got != "run\n" {
		t.Errorf("The play should have been run once, got %q", got)
	}
}
