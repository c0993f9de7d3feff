package workdir

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestRemove(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		fill   func(t *testing.T, dir, outside string)
	}{
		"Nothing": {
			reason: "A missing path is no error.",
			fill: func(t *testing.T, dir, _ string) {
				t.Helper()

				needs.OK(t, os.Remove(dir))
			},
		},
		"File": {
			reason: "A file is removed.",
			fill: func(t *testing.T, dir, _ string) {
				t.Helper()

				needs.OK(t, os.Remove(dir))
				needs.OK(t, os.WriteFile(dir, nil, 0o600))
			},
		},
		"Link": {
			reason: "A dangling link is removed.",
			fill: func(t *testing.T, dir, outside string) {
				t.Helper()

				needs.OK(t, os.Remove(dir))
				needs.OK(t, os.Symlink(outside, dir))
			},
		},
		"Links": {
			reason: "Targets of links stay, and a pipe does not block.",
			fill: func(t *testing.T, dir, outside string) {
				t.Helper()

				needs.OK(t, os.Symlink(outside, filepath.Join(dir, "directory")))
				needs.OK(t, os.Symlink(filepath.Join(outside, "file"), filepath.Join(dir, "file")))
				needs.OK(t, os.Link(filepath.Join(outside, "file"), filepath.Join(dir, "hard")))
				needs.OK(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
			},
		},
		"Modes": {
			reason: "Directories without permissions are removed.",
			fill: func(t *testing.T, dir, _ string) {
				t.Helper()

				needs.OK(t, os.MkdirAll(filepath.Join(dir, "a", "b", "c"), 0o700))
				needs.OK(t, os.WriteFile(filepath.Join(dir, "a", "b", "file"), nil, 0o000))
				needs.OK(t, os.Chmod(filepath.Join(dir, "a", "b"), 0o000))
				needs.OK(t, os.Chmod(filepath.Join(dir, "a"), 0o500))
				needs.OK(t, os.Chmod(dir, 0o500))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			outside, dir := t.TempDir(), filepath.Join(t.TempDir(), "dir")
			needs.OK(t, os.WriteFile(filepath.Join(outside, "file"), []byte("kept"), 0o600))
			needs.OK(t, os.Mkdir(dir, 0o700))
			tc.fill(t, dir, outside)

			if err := Remove(dir); err != nil {
				t.Errorf("%s\nRemove(...): %v", tc.reason, err)
			}

			if _, err := os.Lstat(dir); !os.IsNotExist(err) {
				t.Errorf("%s\nRemove(...): the path still exists: %v", tc.reason, err)
			}

			if kept, err := os.ReadFile(filepath.Join(outside, "file")); err != nil || string(kept) != "kept" {
				t.Errorf("%s\nRemove(...): the file outside became %q: %v", tc.reason, kept, err)
			}
		})
	}
}
