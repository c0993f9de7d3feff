package content

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestIsOwn tells what is the fault of the provider, or of its machine, from what is
// that of others.
func TestIsOwn(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	says := func(text string) galaxy.Installer {
		return faked(func(_ context.Context, p supervisor.Command) error {
			_, _ = io.WriteString(p.Stdout, text)

			return errors.New("exit status 1")
		})
	}

	for name, tc := range map[string]struct {
		reason string
		in     inputs.Inputs
		by     galaxy.Installer
		damage func(t *testing.T, dir string)
		want   bool
	}{
		"Source":        {reason: "A source that does not have it is at fault.", by: says("[ERROR]: no such collection\n")},
		"Configuration": {reason: "So is a configuration that grants what no run may have.", in: inputs.Inputs{Grant: sandbox.Grant{Read: []string{"relative"}}}},
		"Environment":   {reason: "And one whose variables fit into no environment.", in: inputs.Inputs{Env: map[string]string{"LONG": strings.Repeat("x", 1<<20)}}},
		"Supervised": {
			reason: "A program that fails under a supervisor says why.", in: inputs.Inputs{Env: map[string]string{"ANSIBLE_GALAXY_SERVER": "http://127.0.0.1:1"}},
		},
		"NoTools": {
			reason: "Without ansible-galaxy nothing can be installed, whatever it is.",
			by: galaxy.Installer{Run: func(p supervisor.Command, ctx context.Context) (int, error) {
				p.Argv[0] = "/nonexistent/ansible-galaxy"

				return p.Run(ctx)
			}},
			want: true,
		},
		"DiskFull": {reason: "And one that says that the disk is full, which it is not.", by: says("remote: No space left on device\n")},
		"Unusable": {
			reason: "And a directory of its own that it cannot use.",
			damage: func(t *testing.T, dir string) {
				t.Helper()

				above := filepath.Dir(filepath.Dir(dir))

				needs.OK(t, os.RemoveAll(above))
				needs.OK(t, os.WriteFile(above, nil, 0o600))
			},
			want: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a", "b", "store")
			s := newStore(t, Config{Dir: dir, Installer: tc.by})

			if tc.damage != nil {
				tc.damage(t, dir)
			}

			tc.in.Requirements = "collections: [{name: acme.x, version: 1.0.0}]"

			_, _, err := s.Ensure(t.Context(), request(t, tc.in))
			if err == nil || IsOwn(err) != tc.want {
				t.Errorf("\n%s\nEnsure(...): want own %t, got %v", tc.reason, tc.want, err)
			}
		})
	}

	if err := errors.Wrap(unix.EIO, "cannot read it"); !errors.Is(installedError(t.Context(), err), unix.EIO) || !IsOwn(installedError(t.Context(), err)) {
		t.Error("A broken disk is no mistake of what was installed.")
	}
}
