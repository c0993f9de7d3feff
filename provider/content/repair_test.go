package content

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/installed"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestRepair damages sets that were installed by the real ansible-galaxy.
func TestRepair(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	archive := buildCollection(t, filepath.Join(t.TempDir(), "tools"), "tools", "1.0.0")
	req := request(t, inputs.Inputs{Requirements: "collections: [" + archive + "]"})
	task := "collections/ansible_collections/acme/tools/roles/hello/tasks/main.yml"

	replace := func(file, text string) error {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}

		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}

		return os.Chtimes(file, info.ModTime(), info.ModTime())
	}

	cases := map[string]struct {
		reason  string
		damage  func(dir string) error
		damaged bool
	}{
		"Nothing": {
			reason: "A set that is as it was serves.",
			damage: func(string) error { return nil },
		},
		"Cache": {
			reason: "Bytecode takes the place of the source beside it.",
			damage: func(dir string) error {
				cache := filepath.Join(dir, "collections/ansible_collections/acme/tools/plugins", "__pycache__")
				if err := os.MkdirAll(cache, 0o700); err != nil {
					return err
				}

				return os.WriteFile(filepath.Join(cache, "x.pyc"), nil, 0o600)
			},
			damaged: true,
		},
		"Touched": {
			reason: "Nor are other times of files, as on a volume that was copied.",
			damage: func(dir string) error { return os.Chtimes(filepath.Join(dir, task), time.Unix(1, 0), time.Unix(1, 0)) },
		},
		"NoManifest": {
			reason:  "A set without a manifest is replaced.",
			damage:  func(dir string) error { return os.Remove(filepath.Join(dir, installed.File)) },
			damaged: true,
		},
		"ManifestUnreadable": {
			reason:  "So is one whose manifest cannot be read.",
			damage:  func(dir string) error { return os.WriteFile(filepath.Join(dir, installed.File), []byte("{"), 0o600) },
			damaged: true,
		},
		"FileMissing": {
			reason:  "So is one with a file less.",
			damage:  func(dir string) error { return os.Remove(filepath.Join(dir, task)) },
			damaged: true,
		},
		"FileTruncated": {
			reason:  "Or with half a file.",
			damage:  func(dir string) error { return os.Truncate(filepath.Join(dir, task), 3) },
			damaged: true,
		},
		"FileChanged": {
			reason: "Or with another file that looks like the one that was there.",
			damage: func(dir string) error {
				return replace(filepath.Join(dir, task), "- ansible.builtin.debug:\n    msg: jello\n")
			},
			damaged: true,
		},
		"FileAdded": {
			reason: "Or with a file more: it may take the place of another on the way to it.",
			damage: func(dir string) error {
				return os.WriteFile(filepath.Join(dir, filepath.Dir(task), "main.yaml"), nil, 0o600)
			},
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

				if restarted {
					s = newStore(t, dir, counted)
				}

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

// TestRepairInUse damages a set while a run uses it.
func TestRepairInUse(t *testing.T) {
	t.Parallel()

	r := &recorder{}
	s := newStore(t, t.TempDir(), withObserver(r), withCommand(func(_ context.Context, argv, _ []string, _ string, _ io.Writer) error {
		return install(argv, "x", 3)
	}))
	req := request(t, inputs.Inputs{Requirements: "collections: [{name: acme.x, version: 1.0.0}]"})

	first, releaseFirst := ensure(t, s, req)

	gone := filepath.Join(first.CollectionsPath(), "ansible_collections/acme/x/file0.yml")
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}

	second, releaseSecond := ensure(t, s, req)
	if second.Dir == first.Dir || !exists(filepath.Join(second.CollectionsPath(), "ansible_collections/acme/x/file0.yml")) {
		t.Errorf("\nA new run gets a set that is intact.\nEnsure(...): %s, was %s", second.Dir, first.Dir)
	}

	if !exists(first.Dir) {
		t.Errorf("\nA run that has begun keeps its directory.")
	}

	if r := s.Resolution(req); r.Set.Dir != second.Dir {
		t.Errorf("\nThe set that is intact is the one that serves.\nResolution(...): %s", r.Set.Dir)
	}

	releaseFirst()

	if exists(first.Dir) {
		t.Errorf("\nThe damaged set goes when nobody uses it any more.")
	}

	releaseSecond()

	third, release := ensure(t, s, req)
	release()

	if diff := cmp.Diff(second, third, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "New" }, cmp.Ignore())); diff != "" {
		t.Errorf("\nThe other one stays.\nEnsure(...): -want, +got:\n%s", diff)
	}

	if diff := cmp.Diff([]Removal{RemovedDamaged}, r.removed); diff != "" {
		t.Errorf("\nWhat goes is told: -want, +got:\n%s", diff)
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

// BenchmarkIntact looks at a set of five thousand files of 4 KiB, as large as
// the largest collections, as it is done before each run, and at the first use
// after a start.
func BenchmarkIntact(b *testing.B) {
	dir := b.TempDir()

	for i := range 5000 {
		file := filepath.Join(dir, galaxy.CollectionsDir, "ansible_collections/acme/large", fmt.Sprintf("plugins/modules/%d", i%100), fmt.Sprintf("file%d.py", i))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			b.Fatal(err)
		}

		if err := os.WriteFile(file, fmt.Appendf(nil, "%4096d", i), 0o600); err != nil {
			b.Fatal(err)
		}
	}

	if err := os.Mkdir(filepath.Join(dir, galaxy.RolesDir), 0o700); err != nil {
		b.Fatal(err)
	}

	m, err := installed.New(b.Context(), dir, "a", requirements.File{}, nil, installed.Bounds(0))
	if err != nil {
		b.Fatal(err)
	}

	if err := m.Write(dir); err != nil {
		b.Fatal(err)
	}

	for name, forget := range map[string]bool{"EachUse": false, "FirstUse": true} {
		b.Run(name, func(b *testing.B) {
			e := newEntry(m, 0, dir)
			if ok, err := e.intact(b.Context()); !ok || err != nil {
				b.Fatal("the set should be intact")
			}

			for b.Loop() {
				if forget {
					e.stamp = ""
				}

				if ok, err := e.intact(b.Context()); !ok || err != nil {
					b.Fatal("the set should be intact")
				}
			}
		})
	}
}
