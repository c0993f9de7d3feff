package controlplane

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Every process of a stack has these in its environment.
const (
	envStack = "CROSSPLANE_ANSIBLE_STACK"
	envPiece = "CROSSPLANE_ANSIBLE_PIECE"
)

// A process that carries the mark of a stack.
type process struct {
	*os.Process

	piece  string
	args   []string
	parent int
}

// processes of the stack with the given identity, also those that other commands started.
//
// There is no moment at which a process of a stack exists without its mark: it
// has the mark from its exec on, and until then it holds the lock of the stack
// that it inherited from its parent.
func processes(stack string) ([]process, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, errors.Wrap(err, "cannot list processes")
	}

	var out []process
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		// The handle comes before the look at the environment: what is
		// signalled later is what was looked at, even if the id is used anew.
		p, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil {
			continue // It ended, or belongs to another user.
		}
		if value(env, envStack) != stack {
			continue
		}
		cmd, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue
		}
		out = append(out, process{
			Process: p,
			piece:   value(env, envPiece),
			args:    strings.Split(strings.TrimSuffix(string(cmd), "\x00"), "\x00"),
			parent:  parent(stat),
		})
	}
	return out, nil
}

// parent in what proc(5) calls stat: two fields after the name, which is in
// parentheses and may have any.
func parent(stat []byte) int {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	pid, _ := strconv.Atoi(string(fields[1]))
	return pid
}

// value of a variable in an environment as the kernel shows it.
func value(environ []byte, name string) string {
	for kv := range bytes.SplitSeq(environ, []byte{0}) {
		if v, ok := bytes.CutPrefix(kv, []byte(name+"=")); ok {
			return string(v)
		}
	}
	return ""
}

// runs says whether the process executes the file at path as it is now, rather
// than one that has been replaced since.
func (p process) runs(path string) bool {
	exe, err := os.Stat(filepath.Join("/proc", strconv.Itoa(p.Pid), "exe"))
	if err != nil {
		return false
	}
	bin, err := os.Stat(path)
	return err == nil && os.SameFile(exe, bin)
}

// wait until the process has ended. It need not be a child.
func (p process) wait(ctx context.Context) error {
	for {
		ended, err := p.ended(100 * time.Millisecond)
		if ended || err != nil {
			return err
		}
		if ctx.Err() != nil {
			return errors.Wrapf(ctx.Err(), "process %d has not ended", p.Pid)
		}
	}
}

// ended says whether the process has ended within the given time.
func (p process) ended(within time.Duration) (bool, error) {
	var n int
	var perr error
	err := p.WithHandle(func(fd uintptr) {
		n, perr = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(within.Milliseconds())) //nolint:gosec // It is a file descriptor.
	})
	if errors.Is(err, os.ErrProcessDone) || errors.Is(perr, unix.EINTR) {
		return err != nil, nil
	}
	if err == nil {
		err = perr
	}
	return n > 0, errors.Wrapf(err, "cannot wait for process %d", p.Pid)
}

// end processes: politely, and when the grace is over by force. All of them have
// ended when it returns without an error.
func end(ctx context.Context, ps []process, grace time.Duration) error {
	for _, p := range ps {
		_ = p.Signal(syscall.SIGTERM)
	}
	polite, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	for _, p := range ps {
		if p.wait(polite) == nil {
			continue
		}
		_ = p.Kill()
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}
