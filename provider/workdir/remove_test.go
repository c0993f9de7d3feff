package workdir

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestRemove(t *testing.T) {
	cases := map[string]struct {
		reason string
		fill   func(t *testing.T, dir, outside string)
	}{
		"Nothing": {
			reason: "It is no error when there is nothing.",
			fill: func(t *testing.T, dir, _ string) {
				t.Helper()

				must(t, os.Remove(dir))
			},
		},
		"Empty": {reason: "An empty directory goes.", fill: func(*testing.T, string, string) {}},
		"Links": {
			reason: "What links lead to stays, and pipes are not waited for.",
			fill: func(t *testing.T, dir, outside string) {
				t.Helper()

				must(t, os.Symlink(outside, filepath.Join(dir, "directory")))
				must(t, os.Symlink(filepath.Join(outside, "file"), filepath.Join(dir, "file")))
				must(t, os.Link(filepath.Join(outside, "file"), filepath.Join(dir, "hard")))
				must(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
			},
		},
		"Modes": {
			reason: "Nobody may use these, and they go, too.",
			fill: func(t *testing.T, dir, _ string) {
				t.Helper()

				must(t, os.MkdirAll(filepath.Join(dir, "a", "b", "c"), 0o700))
				must(t, os.WriteFile(filepath.Join(dir, "a", "b", "file"), nil, 0o000))
				must(t, os.Chmod(filepath.Join(dir, "a", "b"), 0o000))
				must(t, os.Chmod(filepath.Join(dir, "a"), 0o500))
				must(t, os.Chmod(dir, 0o500))
			},
		},
		"Many": {
			reason: "There may be more files than are read at a time.",
			fill: func(t *testing.T, dir, _ string) {
				t.Helper()

				for i := range 3 * batch {
					must(t, os.WriteFile(filepath.Join(dir, strings.Repeat("x", 1+i%200)+string(rune('a'+i/200))), nil, 0o600))
				}
			},
		},
		"Deep": {
			reason: "There may be more directories in each other than open files, and some may be called as if they had been moved.",
			fill: func(t *testing.T, dir, _ string) {
				t.Helper()

				must(t, os.Mkdir(filepath.Join(dir, ".removed-1"), 0o700))
				nest(t, dir, 1000)
				nest(t, dir, 500)
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			outside, dir := t.TempDir(), filepath.Join(t.TempDir(), "dir")
			must(t, os.WriteFile(filepath.Join(outside, "file"), []byte("kept"), 0o600))
			must(t, os.Mkdir(dir, 0o700))
			tc.fill(t, dir, outside)

			few(t, 200)

			if err := Remove(dir); err != nil {
				t.Errorf("%s\nRemove(...): %v", tc.reason, err)
			}

			if _, err := os.Lstat(dir); !os.IsNotExist(err) {
				t.Errorf("%s\nRemove(...): something is left: %v", tc.reason, err)
			}

			if kept, err := os.ReadFile(filepath.Join(outside, "file")); err != nil || string(kept) != "kept" {
				t.Errorf("%s\nRemove(...): what is outside became %q: %v", tc.reason, kept, err)
			}
		})
	}
}

func TestRemoveLink(t *testing.T) {
	outside, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	must(t, os.WriteFile(filepath.Join(outside, "file"), nil, 0o600))
	must(t, os.Symlink(outside, link))

	must(t, Remove(link))

	if _, err := os.Lstat(link); !os.IsNotExist(err) {
		t.Errorf("Remove(...): the link is left: %v", err)
	}

	if _, err := os.Stat(filepath.Join(outside, "file")); err != nil {
		t.Errorf("Remove(...): what is outside is gone: %v", err)
	}
}

// nest so many directories in each other: no path can name the last one.
func nest(t *testing.T, dir string, levels int) {
	t.Helper()

	d, err := unix.Open(dir, unix.O_DIRECTORY, 0)
	must(t, err)

	for range levels {
		name := "d" + string(rune('a'+levels/500))
		must(t, unix.Mkdirat(d, name, 0o700))

		next, err := unix.Openat(d, name, unix.O_DIRECTORY, 0)
		must(t, err)
		must(t, unix.Close(d))
		d = next
	}

	must(t, unix.Close(d))
}

// TestRemoveStuck has something that the one who removes everything else may not remove.
func TestRemoveStuck(t *testing.T) {
	needs.Root(t, "Only root can make what others cannot remove.")

	const somebody = 2000

	dir := filepath.Join(t.TempDir(), "dir")
	odd, secret := filepath.Join(dir, "b", "odd"), filepath.Join(dir, "b", "odd", "secret")

	must(t, os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o755))
	must(t, os.MkdirAll(odd, 0o755))
	must(t, os.WriteFile(secret, []byte("hunter2"), 0o600))

	for _, name := range []string{"a", "b/a", "b/z", "z"} {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}

	for _, path := range []string{filepath.Dir(dir), dir, filepath.Dir(odd), secret} {
		must(t, os.Chown(path, somebody, somebody))
	}

	result := make(chan error)

	go func() {
		// The thread, which is somebody's for files, is not used again.
		runtime.LockOSThread()

		err := unix.Setfsuid(somebody)
		result <- errors.Join(err, Remove(dir))
	}()

	if err := <-result; err == nil {
		t.Error("Remove(...): want an error for what is left")
	}

	var left []string

	must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		left = append(left, path)

		return err
	}))

	if diff := cmp.Diff([]string{dir, filepath.Dir(odd), odd, secret}, left); diff != "" {
		t.Errorf("What is odd keeps nothing else.\n-want, +got:\n%s", diff)
	}

	if raw, err := os.ReadFile(secret); err != nil || len(raw) > 0 {
		t.Errorf("What cannot be removed should be empty, and has %q, %v", raw, err)
	}
}

// TestRemoveFile is no directory.
func TestRemoveFile(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "link")))

	for _, name := range []string{"file", "link"} {
		path := filepath.Join(dir, name)
		must(t, Remove(path))

		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s should be gone: %v", name, err)
		}
	}
}

// few files may be open from now on.
func few(t *testing.T, files uint64) {
	t.Helper()

	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: files, Max: limit.Max}))
	t.Cleanup(func() { must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)) })
}
