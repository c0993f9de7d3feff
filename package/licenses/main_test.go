package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// A program is made of Go, of this project, and of modules: here, of one.
func TestCollect(t *testing.T) {
	t.Chdir("../..")

	dir := t.TempDir()
	source, program, to := filepath.Join(dir, "main.go"), filepath.Join(dir, "program"), filepath.Join(dir, "licenses")

	text := "package main\n\nimport \"github.com/google/go-cmp/cmp\"\n\nfunc main() { println(cmp.Equal(1, 2)) }\n"
	needs.OK(t, os.WriteFile(source, []byte(text), 0o600))

	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("cannot build a program: %v\n%s", err, out)
	}

	needs.OK(t, collect(program, to))

	var got []string

	err := fs.WalkDir(os.DirFS(to), ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			got = append(got, path)
		}

		return err
	})
	needs.OK(t, err)

	want := []string{
		"LICENSE",
		"github.com/google/go-cmp/LICENSE",
		"go/LICENSE",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("collect(…): -want, +got:\n%s", diff)
	}
}
