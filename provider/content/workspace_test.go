package content

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/installed"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestTakenOverWorkspace has an attacker that controls ansible-galaxy, and may write any files in the workspace, and
// only there. The store must not access files outside of the workspace because of them.
func TestTakenOverWorkspace(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		reason string
		attack func(t *testing.T, workspace, victim string)
		// served is true if the set is intact.
		served bool
	}{
		"Manifest": {
			reason: "The manifest is not written through a link.",
			attack: func(t *testing.T, w, victim string) {
				t.Helper()
				needs.OK(t, os.Symlink(victim, filepath.Join(w, "set", installed.File)))
			},
			served: true,
		},
		"Set": {
			reason: "The set of another installation is not used.",
			attack: func(t *testing.T, w, victim string) {
				t.Helper()
				needs.OK(t, os.Rename(filepath.Join(w, "set"), filepath.Join(w, "was")))
				needs.OK(t, os.Symlink(filepath.Dir(victim), filepath.Join(w, "set")))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			victim := filepath.Join(t.TempDir(), "victim")
			needs.OK(t, os.WriteFile(victim, []byte("precious"), 0o600))

			before, err := os.Stat(victim)
			needs.OK(t, err)

			s := newStore(t, Config{Dir: t.TempDir(), Installer: faked(func(_ context.Context, p supervisor.Command) error {
				// Before the last program, when the set exists.
				if strings.Contains(strings.Join(p.Argv, " "), "role") {
					tc.attack(t, filepath.Dir(p.Dir), victim)
				}

				return nil
			})})

			req, err := NewRequest(inputs.Inputs{Requirements: "collections: [a.b]\nroles: [{name: x, src: 'https://example.org/x.tar.gz'}]"})
			needs.OK(t, err)

			_, release, err := s.Ensure(t.Context(), req)
			if (err == nil) != tc.served {
				t.Errorf("%s\nEnsure(...): %v", tc.reason, err)
			}

			if err == nil {
				release()
			}

			after, err := os.Stat(victim)
			needs.OK(t, err)

			if got, err := os.ReadFile(victim); err != nil || string(got) != "precious" || !after.ModTime().Equal(before.ModTime()) {
				t.Errorf("%s\nEnsure(...): the file outside became %q: %v", tc.reason, got, err)
			}
		})
	}
}
