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

// TestIsOwn has errors that the provider or its machine has caused, and
// other errors.
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
		"Source":        {reason: "A source does not have the collection.", by: says("[ERROR]: no such collection\n")},
		"Configuration": {reason: "A ProviderConfig grants an invalid path.", in: inputs.Inputs{Grant: sandbox.Grant{Read: []string{"relative"}}}},
		"Environment":   {reason: "The variables of a ProviderConfig are too long for an environment.", in: inputs.Inputs{Env: map[string]string{"LONG": strings.Repeat("x", 1<<20)}}},
		"Supervised": {
			reason: "A program fails under a supervisor.", in: inputs.Inputs{Env: map[string]string{"ANSIBLE_GALAXY_SERVER": "http://127.0.0.1:1"}},
		},
		"NoTools": {
			reason: "Without ansible-galaxy, no content can be installed.",
			by: galaxy.Installer{Run: func(p supervisor.Command, ctx context.Context) (int, error) {
				p.Argv[0] = "/nonexistent/ansible-galaxy"

				return p.Run(ctx)
			}},
			want: true,
		},
		"DiskFull": {reason: "A source reports a full disk, but the disk of the store is not full.", by: says("remote: No space left on device\n")},
		"Unusable": {
			reason: "The provider cannot use its own directory.",
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
		t.Error("A broken disk should not count as an error of the content.")
	}
}
