// Package e2e tests the function and the provider on a real control plane, as
// their users meet them: with runs in the provider or, if -place says so, in Pods.
package e2e

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
)

// cp is the control plane that all tests share.
var cp *cluster.Cluster

func TestMain(m *testing.M) {
	s := &cluster.Suite{Stack: "test", Target: "test-e2e", Prepare: prepare}
	flag.StringVar((*string)(&s.Options.Place), "place", "Provider", "Where runs are carried out: Provider or Pod. Pods need what a node needs.")
	s.Main(m)
}

func prepare(ctx context.Context, s *controlplane.Stack) (err error) {
	if cp, err = cluster.New(s); err != nil {
		return err
	}
	if inPods() {
		if err := errors.Join(s.ImportProvider(ctx), s.AllowPods(ctx, "")); err != nil {
			return err
		}
	}
	// Plays write to the directories of tests. They are confined, and may write to
	// this one.
	return os.Setenv("TMPDIR", s.SharedDir())
}

// inPods says whether runs have Pods.
func inPods() bool { return cp.Stack.InPods() }

// needsProvider skips a test that means nothing where runs have Pods.
func needsProvider(t *testing.T, why string) {
	t.Helper()
	if inPods() {
		t.Skip("not with -place=Pod: " + why)
	}
}

// python that runs have, with the modules of Ansible.
func python() string {
	if inPods() {
		return "/opt/ansible/bin/python"
	}
	return filepath.Join(cp.Stack.VirtualEnv(), "python")
}

// host is the address of this machine that runs reach servers of tests at.
func host() string {
	if inPods() {
		return cp.Stack.Address()
	}
	return "127.0.0.1"
}
