package installed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// canary is in a file that nothing of may be shown.
const canary = "stolen-from-the-provider"

// TestManifestOfAttacks has in a set what ansible-galaxy should not have let in.
func TestManifestOfAttacks(t *testing.T) {
	const info = "roles/x/meta/.galaxy_install_info"

	out := t.TempDir()
	write(t, out, map[string]string{"canary": "version: " + canary + "\n", "meta/.galaxy_install_info": "version: " + canary + "\n"})

	for name, tc := range map[string]struct {
		reason string
		make   func(t *testing.T, dir string)
	}{
		"Link": {reason: "It is a link to another file.", make: func(t *testing.T, dir string) {
			t.Helper()
			needs.OK(t, os.Symlink(filepath.Join(out, "canary"), filepath.Join(dir, info)))
		}},
		"Directory": {reason: "A directory above it is a link.", make: func(t *testing.T, dir string) {
			t.Helper()
			needs.OK(t, os.Remove(filepath.Join(dir, "roles/x/meta")))
			needs.OK(t, os.Symlink(filepath.Join(out, "meta"), filepath.Join(dir, "roles/x/meta")))
		}},
		"Pipe": {reason: "Reading it never ends.", make: func(t *testing.T, dir string) {
			t.Helper()
			needs.OK(t, unix.Mkfifo(filepath.Join(dir, info), 0o600))
		}},
		"Huge": {reason: "It takes more memory than there is.", make: func(t *testing.T, dir string) {
			t.Helper()
			needs.OK(t, os.Truncate(touch(t, dir, info, ""), 1<<40))
		}},
		"Quote": {reason: "The parser quotes it.", make: func(t *testing.T, dir string) {
			t.Helper()
			touch(t, dir, info, canary)
		}},
		"Bomb": {reason: "It expands to more than there is memory for.", make: func(t *testing.T, dir string) {
			t.Helper()
			bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
			for c := 'b'; c < 'm'; c++ {
				bomb += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 8), c-1)
			}

			touch(t, dir, info, bomb+"version: *l\n")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			needs.OK(t, os.MkdirAll(filepath.Join(dir, "roles/x/meta"), 0o700))
			tc.make(t, dir)

			m, err := New(t.Context(), dir, "x", requirements.File{}, nil, nil, Bounds(0))
			if got := fmt.Sprint(m.Roles, err); strings.Contains(got, canary[:8]) || err == nil && len(m.Roles) > 0 && m.Roles[0].Version != "" {
				t.Errorf("\n%s\nNew(...): %s", tc.reason, got)
			}
		})
	}
}
