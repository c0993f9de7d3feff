package main

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestSupervisorIsLean asks the runtime what it initialises.
func TestSupervisorIsLean(t *testing.T) {
	self, err := supervisor.Self()
	needs.OK(t, err)

	cmd := exec.CommandContext(t.Context(), self[0], append(self[1:], `--enter={}`, "--", "/bin/true")...)
	cmd.Env = []string{"GODEBUG=inittrace=1"}

	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("supervise --enter={} -- /bin/true: %v\n%s", err, out)
	}

	for pkg, want := range map[string]bool{"os": true, "k8s.io/client-go/kubernetes/scheme": false, "sigs.k8s.io/controller-runtime/pkg/client/apiutil": false} {
		if got := bytes.Contains(out, []byte("\ninit "+pkg+" @")); got != want {
			t.Errorf("A supervisor does not wait for what a provider needs.\nGODEBUG=inittrace=1: init %s: want %t, got %t", pkg, want, got)
		}
	}
}
