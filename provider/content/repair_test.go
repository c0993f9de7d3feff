package content

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/installed"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestRepair damages sets that were installed by the real ansible-galaxy.
func TestRepair(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	archive := buildCollection(t, filepath.Join(t.TempDir(), "tools"), "tools", "1.0.0")
	req := request(t, inputs.Inputs{Requirements: "collections: [" + archive + "]"})
	task := "collections/ansible_collections/acme/tools/roles/hello/tasks/main.yml"

	cases := map[string]struct {
		reason  string
		damage  func(dir string) error
		damaged bool
	}{
		"Nothing": {
			reason: "A set that is as it was serves.",
			damage: func(string) error { return nil },
		},
		"NoManifest": {
			reason:  "A set without a manifest is replaced.",
			damage:  func(dir string) error { return os.Remove(filepath.Join(dir, installed.File)) },
			damaged: true,
		},
		"DirectoryMissing": {
			reason:  "Or one that is not there at all.",
			damage:  os.RemoveAll,
			damaged: true,
		},
	}

	for name, tc := range cases {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/Restarted=%t", name, restarted), func(t *testing.T) {
				t.Parallel()

				var installs atomic.Int32

				counted := withCommand(func(ctx context.Context, argv, env []string, dir string, out io.Writer) error {
					installs.Add(1)

					return execute(ctx, argv, env, dir, out)
				})

				dir := t.TempDir()
				s := newStore(t, dir, counted)

				first, release := ensure(t, s, req)
				defer release()

				if err := tc.damage(first.Dir); err != nil {
					t.Fatal(err)
				}

				if restarted {
					s = newStore(t, dir, counted)
				}

				second, release := ensure(t, s, req)
				defer release()

				if diff := cmp.Diff(tc.damaged, installs.Load() == 2); diff != "" {
					t.Errorf("\n%s\nEnsure(...): -want installed again, +got:\n%s", tc.reason, diff)
				}

				text, err := os.ReadFile(filepath.Join(second.Dir, task))
				if diff := cmp.Diff(collectionFiles("tools", "1.0.0")["roles/hello/tasks/main.yml"], string(text)); err != nil || diff != "" {
					t.Errorf("\nWhat serves is intact.\nEnsure(...): %v, -want, +got:\n%s", err, diff)
				}
			})
		}
	}
}

// TestOtherSchema has a set that was installed under other rules.
func TestOtherSchema(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	req := request(t, inputs.Inputs{Requirements: "collections: [{name: acme.x, version: 1.0.0}]"})
	installs := withCommand(func(_ context.Context, argv, _ []string, _ string, _ io.Writer) error { return install(argv, "x", 3) })

	set, release := ensure(t, newStore(t, dir, installs), req)
	release()

	m, err := installed.Read(set.Dir)
	must(t, err)

	m.Schema--
	must(t, m.Write(set.Dir))

	if found := newStore(t, dir, installs).Resolution(req).Found; found || exists(set.Dir) {
		t.Errorf("\nWhat was installed under other rules serves nobody, and goes.\nResolution(...): found %t, there %t", found, exists(set.Dir))
	}
}
