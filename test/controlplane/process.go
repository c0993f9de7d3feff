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
	return processesWith(func(p process, about procfs.Proc) (process, bool) {
		env, err := about.Environ()
		if err != nil || !slices.Contains(env, envStack+"="+stack) {
			return p, false // It has ended, belongs to another user, or is no process of the stack.
		}
		args, aerr := about.CmdLine()
		stat, serr := about.Stat()
		p.args, p.parent = args, stat.PPID
		for _, kv := range env {
			if v, ok := strings.CutPrefix(kv, envPiece+"="); ok {
				p.piece = v
			}
		}
		return p, aerr == nil && serr == nil
	})
}

// processesWith are the processes of this machine that a function accepts, as it returns them.
func processesWith(accept func(p process, about procfs.Proc) (process, bool)) ([]process, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, errors.Wrap(err, "cannot list processes")
	}
	var out []process
	for _, a := range all {
		// The handle is opened first: a signal reaches the process that was read, even if its id is used anew.
		h, err := os.FindProcess(a.PID)
		if err != nil {
			continue
		}
		if p, ok := accept(process{Process: h}, a); ok {
			out = append(out, p)
		}
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
