package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestVersions confines a thread as kernels with older versions of Landlock do. The table in docs/security.md says what each
// prevents.
func TestVersions(t *testing.T) {
	newest := Landlock()
	if newest == 0 {
		needs.Machinef(t, "There is no Landlock here.")
	}

	for version := 1; version <= newest; version++ {
		own, other := t.TempDir(), filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(other, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}

		for _, dir := range []string{"a", "b"} {
			if err := os.Mkdir(filepath.Join(own, dir), 0o700); err != nil {
				t.Fatal(err)
			}
		}

		got := map[string]error{}

		within(t, version, Domain{Write: []string{own}}, func() {
			_, got["read"] = os.ReadFile(other)
			got["write"] = os.WriteFile(other, nil, 0o600)
			got["truncate"] = unix.Truncate(other, 0)
			got["create"] = os.WriteFile(filepath.Join(own, "a", "file"), nil, 0o600)
			got["move"] = os.Rename(filepath.Join(own, "a", "file"), filepath.Join(own, "b", "file"))
		})

		want := map[string]error{"read": unix.EACCES, "write": unix.EACCES, "truncate": unix.EACCES, "create": nil, "move": nil}

		if version < 3 {
			want["truncate"] = nil
		}

		if version < 2 {
			want["move"] = unix.EXDEV
		}

		for what, err := range want {
			if !errors.Is(got[what], err) {
				t.Errorf("Version %d: %s: want %v, got %v", version, what, err, got[what])
			}
		}
	}
}

// within a domain, with a version of Landlock, call a function on a thread that ends with it.
func within(t *testing.T, version int, d Domain, fn func()) {
	t.Helper()

	attr := handled(version)

	fd, err := create(attr)
	if err != nil {
		t.Fatal(err)
	}

	for _, r := range d.rules() {
		if err := r.add(fd, attr); err != nil {
			t.Fatal(err)
		}
	}

	done := make(chan error)

	go func() {
		runtime.LockOSThread()

		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = ll.LandlockRestrictSelf(fd, 0)
		}

		if err == nil {
			fn()
		}

		done <- err
	}()

	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
