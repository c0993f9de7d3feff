package collection

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/test/canary"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// installed returns a new directory with the collection.
func installed(t *testing.T) string {
	t.Helper()

	dir := filepath.Join(t.TempDir(), "collections")
	needs.OK(t, Install(dir))

	return dir
}

// TestInstall installs the collection twice. Files of another version are removed, also read-only ones.
func TestInstall(t *testing.T) {
	dir := installed(t)
	want := canary.Files(t, dir)

	needs.OK(t, os.MkdirAll(filepath.Join(dir, "of-another-version", "plugins"), 0o500))
	needs.OK(t, os.WriteFile(filepath.Join(dir, "other"), nil, 0o400))
	needs.OK(t, Install(dir))

	if diff := cmp.Diff(want, canary.Files(t, dir)); len(want) == 0 || diff != "" {
		t.Errorf("No other file should be there.\nInstall(...): -want, +got:\n%s", diff)
	}
}
