package pods

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// reporting is a run with a play that reports, and waits at a gate before it goes on.
var reporting = config + inputs + theRun + `
    vars: {ansible_lookup_url_timeout: 300, ledger: "[[.URL]]"}
    varFiles: [{source: SecretKey, secretKeyRef: {name: inputs, key: vars.yml}}]
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Begin
          crossplane.ansible.status: {conditions: [{type: PageUp, status: false, reason: Writing}]}
        - name: Wait at the gate
          ansible.builtin.debug: {msg: "{{ lookup('ansible.builtin.url', ledger ~ '/gate/present') }}"}
        - name: Show a secret
          ansible.builtin.debug: {msg: "The password is {{ password }}."}
        - name: End
          crossplane.ansible.status: {conditions: [{type: PageUp, status: true, reason: Written}]}
`

// TestProgress shows a run in progress, and what is left of it.
func TestProgress(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.apply(t, reporting)
	u := cp.WaitFor(t, s.run(), Field("status.atProvider.lastRun.phase", "Running"), Field("status.atProvider.lastRun.currentTask", "Wait at the gate"),
		Condition("PageUp", "False"), Condition("Ready", "False"))
	if len(s.secrets(t)) == 0 {
		t.Error("A run should have its inputs in a Secret.")
	}
	if got := Value(u, "status.atProvider.lastRun.hosts.ok"); got == nil {
		t.Error("The tasks so far should be counted.")
	}
	s.Open("present")
	u = s.ready(t, Condition("PageUp", "True"))
	s.nothingLeft(t)
	if got := len(s.all(t)); got != 1 {
		t.Errorf("The Pod should be kept, there are %d", got)
	}

	for _, e := range cp.List(t, "v1", "Event", s.Namespace) {
		if Value(&e, "reason") == "FailedMount" {
			t.Errorf("The inputs of a run should be there when its Pod has a node: %v", Value(&e, "message"))
		}
	}

	pod := s.pod(t)
	if want := fmt.Sprint("ansiblerun-", Value(u, "status.atProvider.lastRun.id")); pod.Name != want {
		t.Errorf("The status should name the Pod of the run %s, got %s", want, pod.Name)
	}
	log := cp.Kubectl(t, "logs", "--namespace="+s.Namespace, pod.Name)
	if !strings.Contains(log, "TASK [Begin]") || !strings.Contains(log, "The password is ****") || strings.Contains(log, "correct-horse") {
		t.Errorf("The log should show the play without its secrets:\n%s", log)
	}
}
