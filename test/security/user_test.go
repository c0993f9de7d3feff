package security

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// somebody is the user that the image of the provider has. It needs no name.
const somebody = 2000

// TestAttacksAsUser attacks once more as an ordinary user, which has less to be
// kept from, and limits of its own.
func TestAttacksAsUser(t *testing.T) {
	program, temp := lend(t)

	cmd := exec.CommandContext(t.Context(), program, "-test.run=^(TestAttacks|TestCalls|TestLimits|TestGrants)$", "-test.v")
	cmd.Dir = temp
	cmd.Env = []string{"TMPDIR=" + temp, "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: somebody, Gid: somebody}}

	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("As user %d: %v\n%s", somebody, err, out)
	}
}

// TestPlaysAsUser plays and installs once more as an ordinary user.
func TestPlaysAsUser(t *testing.T) {
	needLandlock(t)

	program, temp := lend(t)

	out := borrowed(t, program, temp, program, "-test.run=^(TestPlay.*|TestModes|TestInstall.*)$", "-test.skip=AsUser", "-test.v")
	wantPassed(t, out, "TestPlayAttacks", "TestPlayEndless", "TestPlayOutage")
}

// TestPartsAsUser attacks single parts of the provider once more as an ordinary user, as
// their own tests do.
func TestPartsAsUser(t *testing.T) {
	needs.Ansible(t)

	for part, attacks := range map[string][]string{
		"content":    {"TestAttacks", "TestAttackBytecode", "TestAttackSparse", "TestAttackUnlisted"},
		"installed":  {"TestManifestOfAttacks"},
		"runner":     {"TestAttackEvents"},
		"supervisor": {"TestRunAttacked", "TestRunAttackedCareless"},
	} {
		t.Run(part, func(t *testing.T) {
			program, temp := lend(t)
			tests := filepath.Join(filepath.Dir(program), part)

			if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", tests, "../../provider/"+part).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}

			out := borrowed(t, program, temp, tests, "-test.run=^("+strings.Join(attacks, "|")+")$", "-test.v")
			wantPassed(t, out, attacks...)
		})
	}
}

// borrowed returns what a program says that an ordinary user runs. Ansible may be where
// only root can go: then they find it there, and nothing else.
func borrowed(t *testing.T, program, temp string, argv ...string) string {
	t.Helper()

	needed, err := sandbox.Programs(t.Context(), filepath.Join(needs.Ansible(t), "ansible-playbook"), environ.List(environ.Passed(os.Environ())))
	must(t, err)

	cmd := exec.CommandContext(t.Context(), program, append([]string{"lend", strings.Join(needed, ":")}, argv...)...)
	cmd.Dir = temp
	cmd.Env = []string{"TMPDIR=" + temp, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}

	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		needs.Machinef(t, "root may not mount anything here: %v", err)
	}

	if err != nil {
		t.Errorf("As user %d: %v\n%s", somebody, err, out)
	}

	return string(out)
}

// wantPassed looks for tests that have passed. One that was skipped proves nothing.
func wantPassed(t *testing.T, out string, tests ...string) {
	t.Helper()

	for _, name := range tests {
		if !strings.Contains(out, "--- PASS: "+name+" (") {
			t.Errorf("As user %d: want %s passed\n%s", somebody, name, out)
		}
	}
}

// lend this program to an ordinary user, with a directory for temporary files.
func lend(t *testing.T) (program, temp string) {
	t.Helper()

	needs.Root(t, "Only root can become an ordinary user.")

	// Below directories that everybody may pass.
	dir, err := os.MkdirTemp("/var/tmp", "security-") //nolint:usetesting // TMPDIR may be out of reach for others.
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))

	program, temp = filepath.Join(dir, "test"), filepath.Join(dir, "temp")
	raw, err := os.ReadFile(os.Args[0])
	must(t, err)
	must(t, os.WriteFile(program, raw, 0o755))
	must(t, os.Mkdir(temp, 0o700))
	must(t, os.Chown(temp, somebody, somebody))

	return program, temp
}

// borrow paths from root, in a mount namespace, and become a program of an ordinary
// user's. Directories above the paths that not everybody may pass have nothing but
// the paths in them.
func borrow(paths, argv []string) error {
	runtime.LockOSThread()

	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}

	// They can be reached by their descriptors when something is mounted above.
	type lent struct {
		fd   int
		path string
		dir  bool
	}

	var (
		borrowed []lent
		closed   []string
	)

	slices.Sort(paths)

	for _, p := range paths {
		info, err := os.Stat(p)
		top := barred(p)

		if err != nil || top == "" || len(borrowed) > 0 && strings.HasPrefix(p+"/", borrowed[len(borrowed)-1].path+"/") {
			continue
		}

		fd, err := unix.Open(p, unix.O_PATH, 0)
		if err != nil {
			return err
		}

		borrowed = append(borrowed, lent{fd: fd, path: p, dir: info.IsDir()})

		if !slices.Contains(closed, top) {
			closed = append(closed, top)
		}
	}

	for _, dir := range closed {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
			return err
		}
	}

	for _, b := range borrowed {
		dir := b.path
		if !b.dir {
			dir = filepath.Dir(b.path)
		}

		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}

		if !b.dir {
			if err := os.WriteFile(b.path, nil, 0o600); err != nil {
				return err
			}
		}

		if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", b.fd), b.path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return err
		}
	}

	if err := errors.Join(unix.Setgroups(nil), unix.Setresgid(somebody, somebody, somebody), unix.Setresuid(somebody, somebody, somebody)); err != nil {
		return err
	}

	return unix.Exec(argv[0], argv, os.Environ())
}

// barred is the first directory on the way to a path that not everybody may pass.
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
