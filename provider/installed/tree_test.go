package installed

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestRevisions tells what makes content another.
func TestRevisions(t *testing.T) {
	base := map[string]string{
		"collections/ansible_collections/a/b/MANIFEST.json": "{}",
		"collections/ansible_collections/a/b/plugins/x.py":  "x",
		"roles/r/tasks/main.yml":                            "[]",
	}

	cases := map[string]struct {
		reason string
		change func(dir string) error
		same   bool
	}{
		"Description": {
			reason: "What the provider says of a collection beside its name and version is not what it is.",
			change: func(dir string) error {
				return os.WriteFile(filepath.Join(dir, "collections/ansible_collections/a/b/MANIFEST.json"), []byte("y"), 0o600)
			},
			same: true,
		},
		"Git": {
			reason: "What git keeps is content where it is installed.",
			change: func(dir string) error {
				if err := os.Mkdir(filepath.Join(dir, "roles/r/.git"), 0o700); err != nil {
					return err
				}

				return os.WriteFile(filepath.Join(dir, "roles/r/.git/main.yml"), nil, 0o600)
			},
		},
		"Content": {
			reason: "What a file says is.",
			change: func(dir string) error {
				return os.WriteFile(filepath.Join(dir, "roles/r/tasks/main.yml"), []byte("[1]"), 0o600)
			},
		},
		"Name": {
			reason: "So is where it is.",
			change: func(dir string) error {
				return os.Rename(filepath.Join(dir, "roles/r/tasks/main.yml"), filepath.Join(dir, "roles/r/tasks/other.yml"))
			},
		},
		"Executable": {
			reason: "And whether it is a program.",
			change: func(dir string) error {
				return os.Chmod(filepath.Join(dir, "collections/ansible_collections/a/b/plugins/x.py"), 0o700)
			},
		},
		"Link": {
			reason: "And where a link leads.",
			change: func(dir string) error { return os.Symlink("main.yml", filepath.Join(dir, "roles/r/tasks/link.yml")) },
		},
		"Pipe": {
			reason: "A pipe is not read.",
			change: func(dir string) error { return unix.Mkfifo(filepath.Join(dir, "roles/r/pipe"), 0o600) },
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, base)

			a, err := revisions(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}

			if err := tc.change(dir); err != nil {
				t.Fatal(err)
			}

			b, err := revisions(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(tc.same, cmp.Equal(a, b)); diff != "" {
				t.Errorf("\n%s\nrevisions(...): -want the same, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRevisionsLinks has a link with a target that reads as if another file followed.
func TestRevisionsLinks(t *testing.T) {
	sums := map[string]string{}

	for target, file := range map[string]string{"x\nb": "c", "x": "b\nc"} {
		dir := t.TempDir()
		write(t, dir, map[string]string{"collections/none": "", "roles/r/" + file: ""})
		must(t, os.Symlink(target, filepath.Join(dir, "roles/r/a")))

		items, err := revisions(t.Context(), dir)
		must(t, err)

		if other, ok := sums[items["roles/r"]]; ok {
			t.Errorf("\nA link to %q and one to %q have the same revision.", target, other)
		}

		sums[items["roles/r"]] = target
	}
}
