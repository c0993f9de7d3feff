package collection

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// tree of a directory: paths to what is there.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()

	found := map[string]string{}

	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		info, err := d.Info()
		if err != nil {
			return err
		}

		name, err := filepath.Rel(dir, p)
		found[name] = info.Mode().String()

		if err == nil && info.Mode().IsRegular() {
			data, rerr := os.ReadFile(p)
			found[name] += " " + string(data)
			err = rerr
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return found
}

func install(t *testing.T, dir string) *Installed {
	t.Helper()

	i := At(dir)
	if err := i.Repair(); err != nil {
		t.Fatalf("Repair(): %v", err)
	}

	t.Cleanup(func() { _ = workdir.Remove(dir) })

	return i
}

func TestInstall(t *testing.T) {
	dir := t.TempDir()
	i := install(t, dir)
	got := tree(t, dir)

	for path, is := range map[string]fs.FileMode{".": fs.ModeDir | 0o700, "plugins": fs.ModeDir | 0o555, "plugins/action/status.py": 0o444} {
		if path != "." {
			path = filepath.Join(filepath.Base(i.Path()), "ansible_collections/crossplane/ansible", path)
		}

		if mode, _, _ := strings.Cut(got[path], " "); mode != is.String() {
			t.Errorf("The collection should be read only: %s is %s", path, mode)
		}
	}

	if again := install(t, dir); again.Path() != i.Path() || !cmp.Equal(got, tree(t, dir)) {
		t.Error("To install it again should change nothing.")
	}
}

func TestInstallOtherVersion(t *testing.T) {
	dir := t.TempDir()
	i := install(t, dir)

	if err := os.Rename(i.Path(), filepath.Join(dir, "of-another-version")); err != nil {
		t.Fatal(err)
	}

	install(t, dir)

	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	if len(entries) != 1 || entries[0].Name() != filepath.Base(i.Path()) {
		t.Errorf("What another version has installed is removed.\ngot %v", entries)
	}
}

func TestRepair(t *testing.T) {
	const action = "ansible_collections/crossplane/ansible/plugins/action/status.py"

	outside := t.TempDir()

	cases := map[string]struct {
		reason string
		damage func(dir string) error
	}{
		"Changed": {
			reason: "A file that was changed is put right.",
			damage: func(dir string) error { return os.WriteFile(filepath.Join(dir, action), []byte("evil"), 0o600) },
		},
		"Missing": {
			reason: "A file that is not there is put back.",
			damage: func(dir string) error { return os.Remove(filepath.Join(dir, action)) },
		},
		"Gone": {
			reason: "All of it may be gone.",
			damage: os.RemoveAll,
		},
		"Added": {
			reason: "What was added is removed, so that nothing can be brought in.",
			damage: func(dir string) error {
				return os.MkdirAll(filepath.Join(dir, "ansible_collections/acme/evil/plugins"), 0o700)
			},
		},
		"Link": {
			reason: "Links are no files, and nobody writes through them.",
			damage: func(dir string) error {
				if err := os.Remove(filepath.Join(dir, action)); err != nil {
					return err
				}

				return os.Symlink(filepath.Join(outside, "target"), filepath.Join(dir, action))
			},
		},
		"LinkedPath": {
			reason: "The same goes for all of it.",
			damage: func(dir string) error {
				if err := os.RemoveAll(dir); err != nil {
					return err
				}

				return os.Symlink(outside, dir)
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			i := install(t, t.TempDir())
			want := tree(t, i.dir)

			// What content can do, too.
			if err := filepath.WalkDir(i.dir, func(p string, _ fs.DirEntry, _ error) error { return os.Chmod(p, 0o700) }); err != nil {
				t.Fatal(err)
			}

			if err := tc.damage(i.Path()); err != nil {
				t.Fatal(err)
			}

			if err := i.Repair(); err != nil {
				t.Fatalf("%s\nRepair(): %v", tc.reason, err)
			}

			if diff := cmp.Diff(want, tree(t, i.dir)); diff != "" {
				t.Errorf("%s\nRepair(): -want, +got:\n%s", tc.reason, diff)
			}

			if left := tree(t, outside); len(left) != 1 {
				t.Errorf("%s\nRepair(): wrote outside of the directory: %v", tc.reason, left)
			}
		})
	}
}
