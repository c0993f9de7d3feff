package main

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestCopy copies the program for an image with another user, under the provider's umask.
func TestCopy(t *testing.T) {
	was := unix.Umask(0o077)
	defer unix.Umask(was)

	to := filepath.Join(t.TempDir(), "bin", "provider-ansible")
	if err := (&copyCommand{To: to}).Run(); err != nil {
		t.Fatal(err)
	}

	for _, path := range []string{filepath.Dir(to), to} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}

		if got := info.Mode().Perm(); got != 0o755 {
			t.Errorf("Other users should execute the copy, and not change it: %s has mode %o", path, got)
		}
	}
}

// TestIdentities lists what a run may read below the secrets of its Pod, if that has a service
// account: not what the run was given.
func TestIdentities(t *testing.T) {
	pod := fstest.MapFS{
		"ansible.crossplane.io/run/payload.000":      {},
		"eks.amazonaws.com/serviceaccount/token":     {},
		"kubernetes.io/serviceaccount/..data/token":  {},
		"kubernetes.io/serviceaccount/..data/ca.crt": {},
	}
	want := []string{"/var/run/secrets/eks.amazonaws.com", "/var/run/secrets/kubernetes.io"}

	if diff := cmp.Diff(want, identities(pod)); diff != "" {
		t.Errorf("identities(...): -want, +got:\n%s", diff)
	}
}
