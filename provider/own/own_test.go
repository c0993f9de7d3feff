package own

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// somebody who is not root.
const somebody = 2000

func must(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

// asUser calls a function with what an ordinary user may do with files: modes are
// nothing to root.
func asUser(t *testing.T, dir string, fn func()) {
	t.Helper()

	if os.Geteuid() != 0 {
		fn()

		return
	}

	// That of the test is above.
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	must(t, os.Chown(dir, somebody, somebody))

	done := make(chan struct{})

	go func() {
		defer close(done)

		// The thread is not used again.
		runtime.LockOSThread()

		if err := unix.Setfsuid(somebody); err != nil {
			t.Error(err)
		}

		fn()
	}()

	<-done
}

func TestShared(t *testing.T) {
	cases := map[string]struct {
		reason string
		// spoil a directory, which has a directory in it.
		spoil func(t *testing.T, dir string)
	}{
		"Nothing": {reason: "What is right stays.", spoil: func(*testing.T, string) {}},
		"Missing": {reason: "What is not there is made.", spoil: func(t *testing.T, dir string) {
			t.Helper()
			must(t, os.RemoveAll(dir))
		}},
		"Mode": {reason: "Whoever is the same user may take all rights away.", spoil: func(t *testing.T, dir string) {
			t.Helper()
			must(t, os.Chmod(dir, 0))
		}},
		"Above": {reason: "So they may above it.", spoil: func(t *testing.T, dir string) {
			t.Helper()
			must(t, os.Chmod(dir, 0))
			must(t, os.Chmod(filepath.Dir(dir), 0))
			must(t, os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o600))
		}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()

			asUser(t, top, func() {
				dir := filepath.Join(top, "a", "b", "c")
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Error(err)
				}

				tc.spoil(t, dir)

				if err := Shared(dir); err != nil {
					t.Errorf("%s\nShared(...): %v", tc.reason, err)
				}

				if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
					t.Errorf("%s\nafter Shared(...): %v", tc.reason, err)
				}
			})
		})
	}
}

func TestDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	must(t, os.Mkdir(dir, 0o700))
	must(t, os.Chmod(dir, 0o777))

	if os.Geteuid() == 0 {
		must(t, os.Chown(dir, somebody, somebody))
	}

	if err := Dir(dir); err != nil {
		t.Errorf("Dir(...): %v", err)
	}

	var s unix.Stat_t
	must(t, unix.Stat(dir, &s))

	if got := fs.FileMode(s.Mode) & fs.ModePerm; got != mode || int(s.Uid) != os.Geteuid() {
		t.Errorf("Nobody else may use the provider's own.\nDir(...): got mode %v and owner %d", got, s.Uid)
	}
}

// TestFile has a file where a directory is to be: one that is the provider's own goes,
// and somebody else's stays.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(path, []byte("precious"), 0o600))

	if err := Shared(path); err == nil {
		t.Error("Shared(...): want an error: a flag may name any file")
	}

	if data, err := os.ReadFile(path); err != nil || string(data) != "precious" {
		t.Errorf("Shared(...): the file has %q, %v", data, err)
	}

	if err := Dir(path); err != nil {
		t.Errorf("Dir(...): %v", err)
	}

	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		t.Errorf("Dir(...): want a directory, %v", err)
	}
}
