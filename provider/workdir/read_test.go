package workdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestReadFile(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		make   func(file, outside string) error
		want   string
		ok     bool
	}{
		"File": {
			reason: "A file may have the largest size.",
			make:   func(file, _ string) error { return os.WriteFile(file, []byte("1234"), 0o600) },
			want:   "1234",
			ok:     true,
		},
		"Empty": {
			reason: "A file may be empty.",
			make:   func(file, _ string) error { return os.WriteFile(file, nil, 0o600) },
			ok:     true,
		},
		"TooLarge": {
			reason: "A file above the largest size is an error.",
			make:   func(file, _ string) error { return os.WriteFile(file, []byte("12345"), 0o600) },
		},
		"Link": {
			reason: "A link to another file in the directory is followed.",
			make: func(file, _ string) error {
				return errors.Join(os.WriteFile(file+".linked", []byte("1234"), 0o600), os.Symlink("file.linked", file))
			},
			want: "1234",
			ok:   true,
		},
		"LinkOutside": {
			reason: "A link out of the directory is not followed.",
			make: func(file, outside string) error {
				return errors.Join(os.WriteFile(outside, []byte("1234"), 0o600), os.Symlink(outside, file))
			},
		},
		"Pipe":      {reason: "Reading a pipe does not block.", make: func(file, _ string) error { return unix.Mkfifo(file, 0o600) }},
		"Directory": {reason: "A directory is an error.", make: func(file, _ string) error { return os.Mkdir(file, 0o700) }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()

			root, err := os.OpenRoot(dir)
			needs.OK(t, err)
			t.Cleanup(func() { needs.OK(t, root.Close()) })

			if _, err := ReadFile(root, "file", 4); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("ReadFile(...): want fs.ErrNotExist, got %v", err)
			}

			needs.OK(t, tc.make(filepath.Join(dir, "file"), filepath.Join(t.TempDir(), "outside")))

			got, err := ReadFile(root, "file", 4)
			if diff := cmp.Diff(tc.want, string(got)); diff != "" || (err == nil) != tc.ok || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("\n%s\nReadFile(...): -want, +got:\n%s%v", tc.reason, diff, err)
			}
		})
	}
}
