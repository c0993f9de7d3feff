package collection

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// modes of what is in a directory, by its path.
func modes(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()

	found := map[string]fs.FileMode{}

	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		info, err := d.Info()
		if err == nil {
			found[name] = info.Mode()
		}

		return err
	})
	needs.OK(t, err)

	return found
}

// installed returns a new directory with the collection.
func installed(t *testing.T) string {
	t.Helper()

	dir := filepath.Join(t.TempDir(), "collections")
	if err := Install(dir); err != nil {
		t.Fatalf("Install(...): %v", err)
	}

	t.Cleanup(func() { _ = workdir.Remove(dir) })

	return dir
}

// TestInstall installs the collection twice: what another version has left goes, and nothing can be written.
func TestInstall(t *testing.T) {
	dir := installed(t)
	want := modes(t, dir)

	for name, mode := range want {
		if mode.Perm()&0o222 != 0 {
			t.Errorf("The collection should be read only: %s is %s", name, mode)
		}
	}

	needs.OK(t, os.Chmod(dir, 0o700))

	needs.OK(t, os.MkdirAll(filepath.Join(dir, "of-another-version", "plugins"), 0o500))

	if err := Install(dir); err != nil {
		t.Fatalf("Install(...): %v", err)
	}

	if diff := cmp.Diff(want, modes(t, dir)); diff != "" {
		t.Errorf("Nothing else should be there.\nInstall(...): -want, +got:\n%s", diff)
	}
}
