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
		case pid == r.child:
			r.code, r.ended = status(ws), true
		}
	}
}

// end every descendant: those that are still there when the grace is over are
// killed, again and again until none is left, since they may fork meanwhile.
func (r *reaper) end(grace time.Duration) {
	asked, killed := map[process]bool{}, map[process]bool{}
	deadline := time.Now().Add(grace)

	for r.reap() {
		sig, done := unix.SIGTERM, asked
		if time.Now().After(deadline) {
			sig, done = unix.SIGKILL, killed
		}

		// What appeared since the last look may fork and be gone before the next
		// one, so that one comes at once.
		if !signalNew(sig, done) {
			time.Sleep(endPoll)
		}
	}
}

// signalNew sends a signal to every descendant that did not get it yet, and
// returns true if there was any.
func signalNew(sig unix.Signal, done map[process]bool) bool {
	found := false

	for _, p := range descendants(unix.Getpid()) {
		if done[p] {
			continue
		}

		done[p], found = true, true
		_ = unix.Kill(p.pid, sig)
	}

	return found
}

// status of an ended process, as shells give it.
func status(ws syscall.WaitStatus) int {
	if ws.Signaled() {
		return 128 + int(ws.Signal()) //nolint:mnd // As in sh(1).
	}

	return ws.ExitStatus()
}
