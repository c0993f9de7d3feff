package runner

import (
	"os"
	"path/filepath"
	"testing"
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
