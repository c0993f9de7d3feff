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
		case err == syscall.EINTR: //nolint:errorlint // Wait4 returns bare errors.
		case err != nil:
			return false
		case pid == 0:
			return true
		case pid == r.child:
			r.code, r.ended = status(ws), true
		}
	}
}

// end every descendant: those that are still there when the grace is over are
// killed, again and again until none is left, since they may fork meanwhile.
func (r *reaper) end(grace time.Duration) {
	asked := map[process]bool{}
	deadline := time.Now().Add(grace)

	for r.reap() {
		for _, p := range descendants(unix.Getpid()) {
			switch {
			case time.Now().After(deadline):
				_ = unix.Kill(p.pid, unix.SIGKILL)
			case !asked[p]:
				asked[p] = true
				_ = unix.Kill(p.pid, unix.SIGTERM)
			}
		}

		time.Sleep(endPoll)
	}
}

// status of an ended process, as shells give it.
func status(ws syscall.WaitStatus) int {
	if ws.Signaled() {
		return 128 + int(ws.Signal()) //nolint:mnd // As in sh(1).
	}

	return ws.ExitStatus()
}
