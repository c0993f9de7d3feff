package installed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestManifestOfAttacks has files in an installation that ansible-galaxy should not have let in.
func TestManifestOfAttacks(t *testing.T) {
	const canary, info = "stolen-from-the-provider", "roles/x/meta/.galaxy_install_info"

	out := filepath.Join(t.TempDir(), "canary")
	needs.OK(t, os.WriteFile(out, []byte("version: "+canary+"\n"), 0o600))

	for reason, attack := range map[string]func(dir string){
		"A file of the provider is not read through a link.": func(dir string) { needs.OK(t, os.Symlink(out, filepath.Join(dir, info))) },
		"An error does not quote invalid YAML.":              func(dir string) { needs.Write(t, dir, map[string]string{info: canary}) },
	} {
		dir := t.TempDir()
		needs.OK(t, os.MkdirAll(filepath.Join(dir, "collections"), 0o700))
		needs.OK(t, os.MkdirAll(filepath.Join(dir, "roles/x/meta"), 0o700))
		attack(dir)

		m, err := New(t.Context(), dir, "x", requirements.File{}, nil, nil, Bounds(0))
		if got := fmt.Sprint(m.Roles, err); err == nil || strings.Contains(got, canary[:8]) {
			t.Errorf("\n%s\nNew(...): %s", reason, got)
		}
	}
}
