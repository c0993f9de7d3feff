package security

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// ordinary is the user, and the group, of the image of the provider. It needs no name.
const ordinary = 2000

// TestAttacksAsUser repeats the attacks as an ordinary user, with fewer rights than root, and other limits.
func TestAttacksAsUser(t *testing.T) {
	testAsUser(t, os.Args[0], "TestAttacks", "TestLimits", "TestGrants")
}

// TestPartsAsUser repeats the attacks in the tests of single packages as an ordinary user.
func TestPartsAsUser(t *testing.T) {
	t.Parallel()

	parts := map[string][]string{
		"content":   {"TestAttacks"},
		"installed": {"TestManifestOfAttacks", "TestStrip"},
		"runner":    {"TestAttackWarm"},
	}
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", dir)

	for part := range parts {
		build.Args = append(build.Args, "../../provider/"+part)
	}

	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	for part, attacks := range parts {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			testAsUser(t, filepath.Join(dir, part+".test"), attacks...)
		})
	}
}

// asUser has an ordinary user, as the provider is by default, run the test if root runs it, in a process of its own. It is
// true once that is done.
func asUser(t *testing.T) bool {
	t.Helper()

	if os.Geteuid() != 0 {
		return false
	}

	t.Parallel()
	needLandlock(t)
	testAsUser(t, os.Args[0], t.Name())

	return true
}

// testAsUser runs tests of a program as an ordinary user. One that is skipped proves nothing.
func testAsUser(t *testing.T, program string, tests ...string) {
	t.Helper()

	needs.Root(t, "Only root can become another user.")

	paths, err := sandbox.Programs(t.Context(), filepath.Join(needs.Ansible(t), "ansible-playbook"), environ.List(environ.Passed(os.Environ())))
	needs.OK(t, err)

	// The user can reach the program and Ansible even below directories that only root can pass.
	cmd := exec.CommandContext(t.Context(), os.Args[0], "as-user", strings.Join(append(paths, program), ":"),
		program, "-test.run=^("+strings.Join(tests, "|")+")$", "-test.v")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	cmd.Dir = openDir(t)
	cmd.Env = []string{"TMPDIR=" + cmd.Dir, "PATH=" + os.Getenv("PATH")}

	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		needs.Machinef(t, "root may not mount anything here: %v", err)
	}

	if err != nil {
		t.Errorf("As user %d: %v\n%s", ordinary, err, out)
	}

	for _, name := range tests {
		if !strings.Contains(string(out), "--- PASS: "+name+" (") {
			t.Errorf("As user %d: want %s passed\n%s", ordinary, name, out)
		}
	}
}

// openDir is a directory of the ordinary user's group, below directories that all users can pass.
func openDir(t *testing.T) string {
	t.Helper()

	dir, err := os.MkdirTemp("/var/tmp", "security-") //nolint:usetesting // TMPDIR may be out of reach for others.
	needs.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	needs.OK(t, os.Chown(dir, -1, ordinary))
	needs.OK(t, os.Chmod(dir, 0o770))

	return dir
}

// becomeUser executes a program as the ordinary user, for which the paths can be reached even below directories that only
// root can pass: in a mount namespace, all can pass them.
func becomeUser(paths, argv []string) error {
	runtime.LockOSThread()

	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}

	for _, p := range paths {
		for dir := barred(p); dir != ""; dir = barred(p) {
			fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}

			// The upper one of the layers has the mode that counts.
			layers := fmt.Sprintf("lowerdir=%s:/proc/self/fd/%d", dir, fd)
			if err := errors.Join(unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"), unix.Mount("overlay", dir, "overlay", 0, layers)); err != nil {
				return err
			}
		}
	}

	if err := errors.Join(unix.Setgroups(nil), unix.Setresgid(ordinary, ordinary, ordinary), unix.Setresuid(ordinary, ordinary, ordinary)); err != nil {
		return err
	}

	return unix.Exec(argv[0], argv, os.Environ())
}

// barred is the first directory on the way to a path that only its owner can pass.
func barred(path string) string {
	for i := 1; i < len(path); i++ {
		if path[i] != '/' {
			continue
		}

		if info, err := os.Stat(path[:i]); err == nil && info.Mode()&1 == 0 {
			return path[:i]
		}
	}

	return ""
}
