package controlplane

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
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
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, errors.Wrap(err, "cannot list processes")
	}

	var out []process
	for _, a := range all {
		// The handle comes before the look at the environment: what is
		// signalled later is what was looked at, even if the id is used anew.
		p, err := os.FindProcess(a.PID)
		if err != nil {
			continue
		}
		env, err := a.Environ()
		if err != nil || !slices.Contains(env, envStack+"="+stack) {
			continue // It ended, belongs to another user, or is no process of the stack.
		}
		args, err := a.CmdLine()
		if err != nil {
			continue
		}
		stat, err := a.Stat()
		if err != nil {
			continue
		}
		m := process{Process: p, args: args, parent: stat.PPID}
		for _, kv := range env {
			if v, ok := strings.CutPrefix(kv, envPiece+"="); ok {
				m.piece = v
			}
		}
		out = append(out, m)
	}
	return out, nil
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
