package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestVersions confines a thread as kernels with older versions of Landlock do. The table in docs/security.md says what
// each version prevents.
func TestVersions(t *testing.T) {
	newest := Landlock()
	if newest == 0 {
		needs.Machinef(t, "The kernel has no Landlock.")
	}

	for version := 1; version <= newest; version++ {
		own, other := t.TempDir(), filepath.Join(t.TempDir(), "secret")
		needs.OK(t, os.WriteFile(other, []byte("x"), 0o600))

		for _, dir := range []string{"a", "b"} {
			needs.OK(t, os.Mkdir(filepath.Join(own, dir), 0o700))
		}

		got := map[string]error{}

		needs.OK(t, Domain{Write: []string{own, "/dev/ptmx", "/dev/pts"}}.onThread(version, func() error {
			_, got["read"] = os.ReadFile(other)
			got["write"] = os.WriteFile(other, nil, 0o600)
			got["truncate"] = unix.Truncate(other, 0)
			got["terminal"] = openTerminal()
			got["create"] = os.WriteFile(filepath.Join(own, "a", "file"), nil, 0o600)
			got["link"] = os.Link(filepath.Join(own, "a", "file"), filepath.Join(own, "b", "link"))
			got["move"] = os.Rename(filepath.Join(own, "a", "file"), filepath.Join(own, "b", "file"))

			return nil
		}))

		want := map[string]error{
			"read": unix.EACCES, "write": unix.EACCES, "truncate": unix.EACCES,
			"terminal": nil, "create": nil, "link": nil, "move": nil,
		}

		if version < 3 {
			want["truncate"] = nil
		}

		if version < 2 {
			want["link"], want["move"] = unix.EXDEV, unix.EXDEV
		}

		for what, err := range want {
			if !errors.Is(got[what], err) {
				t.Errorf("Version %d: %s: want %v, got %v", version, what, err, got[what])
			}
		}
	}
}

// openTerminal makes a pseudo-terminal, and opens its other end, as openpty(3) does.
func openTerminal() error {
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer ptmx.Close()

	if err := unix.IoctlSetPointerInt(int(ptmx.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return err
	}

	n, err := unix.IoctlGetInt(int(ptmx.Fd()), unix.TIOCGPTN)
	if err != nil {
		return err
	}

	pts, err := os.OpenFile(filepath.Join("/dev/pts", strconv.Itoa(n)), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}

	return pts.Close()
}

// TestReadsNoSecret checks which paths a thread in a domain can read.
func TestReadsNoSecret(t *testing.T) {
	newest := Landlock()
	if newest == 0 {
		needs.Machinef(t, "The kernel has no Landlock.")
	}

	secret := t.TempDir()
	p := Policy{State: secret, ServiceAccount: []string{filepath.Join(secret, "missing")}}

	if err := (Domain{}).onThread(newest, p.checkSecrets); err != nil {
		t.Errorf("A confined thread should not read secrets: %v", err)
	}

	if err := (Domain{Read: []string{secret}}).onThread(newest, p.checkSecrets); err == nil {
		t.Error("A path that a thread may read should be an error.")
	}

	if err := p.checkSecrets(); err == nil {
		t.Error("An unconfined thread should be an error.")
	}
}
