package runner

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

func TestSpool(t *testing.T) {
	dir := t.TempDir()
	own, other := filepath.Join(dir, "own"), filepath.Join(dir, "other")
	artifacts := filepath.Join(own, "artifacts", ident)

	for _, d := range []string{artifacts, filepath.Join(artifacts, "job_events"), other} {
		if err := os.MkdirAll(d, modeDir); err != nil {
			t.Fatal(err)
		}
	}

	files := []string{"1-a.json", "2-b.json", "4-d.json"}

	for _, name := range files {
		for _, d := range []string{filepath.Join(artifacts, "job_events"), other} {
			if err := os.WriteFile(filepath.Join(d, name), nil, modeFile); err != nil {
				t.Fatal(err)
			}
		}
	}

	root, err := os.OpenRoot(own)
	if err != nil {
		t.Fatal(err)
	}

	defer root.Close()

	spool(root)(4, "d")

	left, err := os.ReadDir(filepath.Join(artifacts, "job_events"))
	if err != nil || len(left) > 0 {
		t.Errorf("What was read goes, and what was missed before it.\nspool(...): %v is left, %v", left, err)
	}

	if err := os.Remove(filepath.Join(artifacts, "job_events")); err != nil {
		t.Fatal(err)
	}

	if err := os.Symlink(other, filepath.Join(artifacts, "job_events")); err != nil {
		t.Fatal(err)
	}

	spool(root)(4, "d")

	left, err = os.ReadDir(other)
	if err != nil || len(left) != len(files) {
		t.Errorf("A play cannot make the provider remove what is others'.\nspool(...): only %v is left, %v", left, err)
	}
}

// The play may have put a pipe in the place of its directory, that nobody ever
// writes into.
func TestSpoolPipe(t *testing.T) {
	dir := t.TempDir()
	artifacts := filepath.Join(dir, "artifacts", ident)

	if err := errors.Join(os.MkdirAll(artifacts, modeDir), unix.Mkfifo(filepath.Join(artifacts, "job_events"), 0o600)); err != nil {
		t.Fatal(err)
	}

	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}

	defer root.Close()

	done := make(chan struct{})

	go func() {
		defer close(done)

		spool(root)(7, "uuid")
	}()

	select {
	case <-done:
	case <-time.After(patience):
		t.Error("The reader of events should not wait for a pipe.")
	}
}
