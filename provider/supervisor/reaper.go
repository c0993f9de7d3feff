package supervisor

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A reaper collects the exit statuses of its own process's descendants.
type reaper struct {
	// child is the command; the other children were adopted.
	child int
	// code is the command's exit status, once it has ended.
	code  int
	ended bool
}

// reap all children that have ended. It returns false if none are left; then
// no descendant is left either, since orphans become children.
func (r *reaper) reap() bool {
	for {
		var ws syscall.WaitStatus

		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)

		switch {
		case err == syscall.EINTR:
		case err != nil:
			return false
		case pid == 0:
			return true
		// Its id may be that of another process by now.
		case pid == r.child && !r.ended:
			r.code, r.ended = status(ws), true
		}
	}
}

// end every descendant. Those that are left when the grace is over are killed, again and again
// until none is left, since they may fork meanwhile. It is false if some cannot be killed.
func (r *reaper) end(grace time.Duration) bool {
	h := newTermination(grace)

	for r.reap() {
		if !h.signal(descendants(unix.Getpid())) {
			time.Sleep(endPoll)
		}

		if h.stuck() {
			return false
		}
	}

	return true
}

// status of an ended process, as shells give it.
func status(ws syscall.WaitStatus) int {
	if ws.Signaled() {
		return 128 + int(ws.Signal()) // As in sh(1).
	}

	return ws.ExitStatus()
}
