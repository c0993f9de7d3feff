package sshd

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// copyMachine has the files of this machine below an overlay, whose changes are in memory, and processes of its own.
// The home of root is empty. It says that it is ready, and goes with its first process. $1 is a directory that is the
// same in both.
const copyMachine = `set -e
changes=$(mktemp -d -p "$1") && mount -t tmpfs changes "$changes"
mkdir "$changes/upper" "$changes/work" "$changes/root"
mount -t overlay machine -o "lowerdir=/,upperdir=$changes/upper,workdir=$changes/work" "$changes/root"
cd "$changes/root"
mount -t proc none proc
mount --rbind /dev dev
mount -t tmpfs none tmp
mount -t tmpfs none run
mount -t tmpfs none root
mkdir -p "$PWD$1" run/sshd && mount --bind "$1" "$PWD$1"
echo ready
exec chroot . cat
`

// A Machine is a copy of this one: the same programs, files and users, which change without changing this machine, and
// processes that end with it. Only root can make one. The network is that of this machine, with an address more.
type Machine struct{ pid string }

// newMachine that shares a directory with this one, and has an address of its own. It ends with the test.
func newMachine(tb testing.TB, dir, address string) *Machine {
	tb.Helper()

	ip := func(action string) {
		cmd := exec.CommandContext(context.Background(), "ip", "address", action, address+"/32", "dev", "lo")
		if out, err := cmd.CombinedOutput(); err != nil {
			tb.Fatalf("cannot change an address of a machine: %v: %s", err, out)
		}
	}

	ip("replace")
	tb.Cleanup(func() { ip("del") })

	cmd := exec.CommandContext(context.Background(), "unshare", "--mount", "--pid", "--ipc", "--fork",
		"--kill-child", "--propagation=private", "sh", "-c", copyMachine, "sh", dir)
	cmd.Stderr = os.Stderr

	stdin, err := cmd.StdinPipe()
	needs.OK(tb, err)
	stdout, err := cmd.StdoutPipe()
	needs.OK(tb, err)
	needs.OK(tb, cmd.Start())
	tb.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})

	if _, err := io.ReadFull(stdout, make([]byte, len("ready\n"))); err != nil {
		tb.Fatalf("cannot make a machine, only root can: %v", err)
	}

	// The first process of the machine is the only child of unshare.
	pid := strconv.Itoa(cmd.Process.Pid)

	return &Machine{pid: strings.TrimSpace(needs.Read(tb, filepath.Join("/proc", pid, "task", pid, "children")))}
}

// Path of a file of the machine, as this machine sees it.
func (m *Machine) Path(name string) string { return filepath.Join("/proc", m.pid, "root", name) }

// Command line that runs a command on the machine.
func (m *Machine) Command(args ...string) []string {
	return append([]string{
		"nsenter", "--target=" + m.pid, "--mount", "--pid", "--root", "--", "sh", "-c", `cd / && exec "$@"`, "sh",
	}, args...)
}
