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

// ordinaryUser is the user that the image of the provider has. It needs no name.
const ordinaryUser = 2000

// TestAttacksAsUser repeats the attacks as an ordinary user, who has fewer rights than root, and
// other limits.
func TestAttacksAsUser(t *testing.T) {
	program, temp := copyForUser(t)

	cmd := exec.CommandContext(t.Context(), program, "-test.run=^(TestAttacks|TestCalls|TestLimits|TestGrants)$", "-test.v")
	cmd.Dir = temp
	cmd.Env = []string{"TMPDIR=" + temp, "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryUser, Gid: ordinaryUser}}

	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("As user %d: %v\n%s", ordinaryUser, err, out)
	}
}

// TestPlaysAsUser repeats plays and installations as an ordinary user.
func TestPlaysAsUser(t *testing.T) {
	needLandlock(t)

	program, temp := copyForUser(t)

	out := outputAsUser(t, program, temp, program, "-test.run=^(TestPlay.*|TestModes|TestInstall.*)$", "-test.skip=AsUser", "-test.v")
	wantPassed(t, out, "TestPlayAttacks", "TestPlayEndless", "TestPlayOutage")
}

// TestPartsAsUser repeats the attacks in the tests of single packages as an ordinary user.
func TestPartsAsUser(t *testing.T) {
	needs.Ansible(t)

	for part, attacks := range map[string][]string{
		"content":    {"TestAttacks", "TestAttackBytecode", "TestAttackSparse", "TestAttackUnlisted"},
		"installed":  {"TestManifestOfAttacks"},
		"runner":     {"TestAttackEvents", "TestAttackWarm", "TestSweepStopped"},
		"supervisor": {"TestRunAttacked", "TestRunAttackedCareless"},
	} {
		t.Run(part, func(t *testing.T) {
			program, temp := copyForUser(t)
			tests := filepath.Join(filepath.Dir(program), part)

			if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", tests, "../../provider/"+part).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}

			out := outputAsUser(t, program, temp, tests, "-test.run=^("+strings.Join(attacks, "|")+")$", "-test.v")
			wantPassed(t, out, attacks...)
		})
	}
}

// outputAsUser returns the output of a program that an ordinary user runs, who can reach Ansible even
// below directories that only root can pass.
func outputAsUser(t *testing.T, program, temp string, argv ...string) string {
	t.Helper()

	needed, err := sandbox.Programs(t.Context(), filepath.Join(needs.Ansible(t), "ansible-playbook"), environ.List(environ.Passed(os.Environ())))
	must(t, err)

	cmd := exec.CommandContext(t.Context(), program, append([]string{"as-user", strings.Join(needed, ":")}, argv...)...)
	cmd.Dir = temp
	cmd.Env = []string{"TMPDIR=" + temp, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}

	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		needs.Machinef(t, "root may not mount anything here: %v", err)
	}

	if err != nil {
		t.Errorf("As user %d: %v\n%s", ordinaryUser, err, out)
	}

	return string(out)
}

// wantPassed looks for tests that have passed. One that was skipped proves nothing.
func wantPassed(t *testing.T, out string, tests ...string) {
	t.Helper()

	for _, name := range tests {
		if !strings.Contains(out, "--- PASS: "+name+" (") {
			t.Errorf("As user %d: want %s passed\n%s", ordinaryUser, name, out)
		}
	}
}

// copyForUser makes a copy of this program that an ordinary user can run, and a directory for its
// temporary files.
func copyForUser(t *testing.T) (program, temp string) {
	t.Helper()

	needs.Root(t, "Only root can become an ordinary user.")

	// Below directories that all users can pass.
	dir, err := os.MkdirTemp("/var/tmp", "security-") //nolint:usetesting // TMPDIR may be out of reach for others.
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))

	program, temp = filepath.Join(dir, "test"), filepath.Join(dir, "temp")
	raw, err := os.ReadFile(os.Args[0])
	must(t, err)
	must(t, os.WriteFile(program, raw, 0o755))
	must(t, os.Mkdir(temp, 0o700))
	must(t, os.Chown(temp, ordinaryUser, ordinaryUser))

	return program, temp
}

// becomeUser executes a program as an ordinary user, who can reach the paths even below directories
// that only root can pass. Such a directory has only the paths in it then, in a mount namespace.
func becomeUser(paths, argv []string) error {
	runtime.LockOSThread()

	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}

	// The paths are reached by their descriptors once their directories are covered by mounts.
	type bind struct {
		fd   int
		path string
		dir  bool
	}

	var (
		binds  []bind
		closed []string
	)

	slices.Sort(paths)

	for _, p := range paths {
		info, err := os.Stat(p)
		top := barred(p)

		if err != nil || top == "" || len(binds) > 0 && strings.HasPrefix(p+"/", binds[len(binds)-1].path+"/") {
			continue
		}

		fd, err := unix.Open(p, unix.O_PATH, 0)
		if err != nil {
			return err
		}

		binds = append(binds, bind{fd: fd, path: p, dir: info.IsDir()})

		if !slices.Contains(closed, top) {
			closed = append(closed, top)
		}
	}

	for _, dir := range closed {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
			return err
		}
	}

	for _, b := range binds {
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

	if err := errors.Join(unix.Setgroups(nil), unix.Setresgid(ordinaryUser, ordinaryUser, ordinaryUser), unix.Setresuid(ordinaryUser, ordinaryUser, ordinaryUser)); err != nil {
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
