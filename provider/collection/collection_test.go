package collection

import (
	"io/fs"
	"os"
	"path/filepath"
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
	name := filepath.Base(i.Path())

	for path, is := range map[string]fs.FileMode{
		name: modeDir | fs.ModeDir,
		name + "/ansible_collections/crossplane/ansible/plugins": modeDir | fs.ModeDir,
	} {
		if diff := cmp.Diff(is.String(), got[path]); diff != "" {
			t.Errorf("Directories are read only.\n%s: -want mode, +got mode:\n%s", path, diff)
		}
	}

	file := name + "/ansible_collections/crossplane/ansible/plugins/action/status.py"
	if diff := cmp.Diff(modeFile.String()+" "+string(i.files[file]), got[file]); diff != "" {
		t.Errorf("Files are read only, and as they were shipped.\n%s: -want, +got:\n%s", file, diff)
	}

	if diff := cmp.Diff(i.Path(), install(t, dir).Path()); diff != "" {
		t.Errorf("The same collection is in the same place.\n-want, +got:\n%s", diff)
	}

	if diff := cmp.Diff(got, tree(t, dir)); diff != "" {
		t.Errorf("To install it again changes nothing.\n-want, +got:\n%s", diff)
	}
}

func TestInstallOtherVersion(t *testing.T) {
	dir := t.TempDir()
	i := install(t, dir)

	if err := os.Chmod(dir, modeOpen); err != nil {
		t.Fatal(err)
	}

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
		"Half": {
			reason: "An installation that was interrupted is finished.",
			damage: func(dir string) error {
				return os.RemoveAll(filepath.Join(dir, "ansible_collections/crossplane/ansible/plugins"))
			},
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
		"AddedFile": {
			reason: "So is a file beside ours.",
			damage: func(dir string) error { return os.WriteFile(filepath.Join(dir, action+".part"), nil, 0o600) },
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
		"LinkedDirectory": {
			reason: "The same goes for directories.",
			damage: func(dir string) error {
				action := filepath.Dir(filepath.Join(dir, action))
				if err := os.RemoveAll(action); err != nil {
					return err
				}

				return os.Symlink(outside, action)
			},
		},
		"LinkedPath": {
			reason: "And for all of it.",
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
