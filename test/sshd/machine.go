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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
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
type Machine struct {
	cmd     *exec.Cmd
	stop    io.Closer
	pid     string
	address string
}

// newMachine that shares a directory with this one, and has an address of its own unless that is empty.
func newMachine(ctx context.Context, dir, address string) (*Machine, error) {
	if address != "" {
		add := exec.CommandContext(ctx, "ip", "address", "replace", address+"/32", "dev", "lo")
		if out, err := add.CombinedOutput(); err != nil {
			return nil, errors.Wrapf(err, "cannot give a machine an address: %s", out)
		}
	}

	cmd := exec.CommandContext(context.WithoutCancel(ctx), "unshare", "--mount", "--pid", "--ipc", "--fork",
		"--kill-child", "--propagation=private", "sh", "-c", copyMachine, "sh", dir)
	cmd.Stderr = os.Stderr

	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, errors.Wrap(err, "cannot hold a machine")
	}

	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Wrap(err, "cannot hear of a machine")
	}

	if err := cmd.Start(); err != nil {
		return nil, errors.Wrap(err, "cannot make a machine")
	}

	m := &Machine{cmd: cmd, stop: stdin, address: address}

	ready := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(stdout, ready); err != nil {
		m.Stop()

		return nil, errors.Wrap(err, "cannot make a machine: only root can")
	}

	// The first process of the machine is the only child of unshare.
	pid := strconv.Itoa(cmd.Process.Pid)

	children, err := os.ReadFile(filepath.Join("/proc", pid, "task", pid, "children"))
	if err != nil {
		m.Stop()

		return nil, errors.Wrap(err, "cannot find the first process of a machine")
	}

	m.pid = strings.TrimSpace(string(children))

	return m, nil
}

// Path of a file of the machine, as this machine sees it.
func (m *Machine) Path(name string) string { return filepath.Join("/proc", m.pid, "root", name) }

// Command line that runs a command on the machine.
func (m *Machine) Command(args ...string) []string {
	return append([]string{
		"nsenter", "--target=" + m.pid, "--mount", "--pid", "--root", "--", "sh", "-c", `cd / && exec "$@"`, "sh",
	}, args...)
}

// Stop all processes of the machine. Its files go, too.
func (m *Machine) Stop() {
	if m.address != "" {
		_ = exec.Command("ip", "address", "del", m.address+"/32", "dev", "lo").Run() //nolint:noctx // It is the end.
	}

	_ = m.stop.Close()
	_ = m.cmd.Process.Signal(syscall.SIGTERM)
	_ = m.cmd.Wait()
}
