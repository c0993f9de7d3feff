package supervisor

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// endPoll is how often processes that are being ended are looked for.
	endPoll = 10 * time.Millisecond
	// killPatience is how long a process may take to end after SIGKILL. A process that is
	// still there then does nothing any more: the kernel keeps it, often since it waits for a
	// disk (state D), and ends it as soon as possible.
	killPatience = 5 * time.Second
)

// kill processes, without a grace.
func kill(pids []int) {
	for _, pid := range pids {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// descendants of a process, in no order, those included that have ended and that their parents have not waited for.
func descendants(root int) []int {
	children := map[int][]int{}

	for _, pid := range processes() {
		// One that cannot be looked at has ended.
		if ppid, err := parent(pid); err == nil {
			children[ppid] = append(children[ppid], pid)
		}
	}

	found := children[root]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}

	return found
}

// processes are the ids of all.
func processes() []int {
	entries, _ := os.ReadDir("/proc") // Linux without it has no processes to be seen.

	var ids []int

	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			ids = append(ids, id)
		}
	}

	return ids
}

// parent of a process, by proc_pid_stat(5): the command, which may itself contain spaces and parentheses, is followed
// by the state and the id of the parent.
func parent(pid int) (int, error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, fmt.Errorf("cannot look at a process: %w", err)
	}

	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	if len(fields) < 2 {
		return 0, fmt.Errorf("cannot look at a process: %q", raw)
	}

	return strconv.Atoi(string(fields[1]))
}

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

// end every descendant: with SIGTERM, and with SIGKILL when the grace is over. It is false if all that are left have
// had SIGKILL long ago.
func (r *reaper) end(grace time.Duration) bool {
	killFrom := time.Now().Add(grace)
	signal := unix.SIGTERM

	var since map[int]time.Time // Each process got the signal.

	for r.reap() {
		now := time.Now()
		if signal == unix.SIGTERM && now.After(killFrom) {
			signal, since = unix.SIGKILL, nil
		}

		found := map[int]time.Time{}
		news, stuck := false, signal == unix.SIGKILL

		for _, pid := range descendants(unix.Getpid()) {
			at, known := since[pid]
			if !known {
				at, news = now, true
				_ = unix.Kill(pid, signal)
			}

			found[pid] = at
			stuck = stuck && now.Sub(at) > killPatience
		}

		if stuck && len(found) > 0 {
			return false
		}

		// A new process may fork and be gone before the next look.
		if !news {
			time.Sleep(endPoll)
		}

		since = found
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
