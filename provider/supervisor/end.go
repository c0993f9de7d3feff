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

// LeftAfter is how long a supervisor takes at most to end everything, from when it is
// told to, or the process that started it has ended. One that takes longer was stopped, or hangs.
func LeftAfter(grace time.Duration) time.Duration { return grace + 2*killPatience }

// end processes until find says that none is left: with SIGTERM, and with SIGKILL when the grace is over. It is false
// if some are left that have had SIGKILL long ago.
func end(grace time.Duration, find func() (pids []int, left bool)) bool {
	killFrom := time.Now().Add(grace)
	signal := unix.SIGTERM

	var since map[int]time.Time // Each process got the signal.

	for pids, left := find(); left; pids, left = find() {
		now := time.Now()
		if signal == unix.SIGTERM && !now.Before(killFrom) {
			signal, since = unix.SIGKILL, nil
		}

		found := make(map[int]time.Time, len(pids))
		news, stuck := false, signal == unix.SIGKILL && len(pids) > 0

		for _, pid := range pids {
			at, known := since[pid]
			if !known {
				at, news = now, true
				_ = unix.Kill(pid, signal)
			}

			found[pid] = at
			stuck = stuck && now.Sub(at) > killPatience
		}

		if stuck {
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

// EndLeft kills the processes that have one of some texts in their environment or in their arguments, and the
// processes that these start meanwhile. They are left when the supervisor was killed. A process that cannot be killed
// does nothing any more. The environment of another user's process, or of a supervisor, cannot be read.
func EndLeft(texts ...string) {
	end(0, func() (found []int, left bool) {
		for _, pid := range processes() {
			if pid != unix.Getpid() && mentions(pid, texts) {
				found = append(found, pid)
			}
		}

		return found, len(found) > 0
	})
}

// mentions is true for a process with one of the texts in its environment or in its arguments. One that has ended has
// neither.
func mentions(pid int, texts []string) bool {
	for _, file := range []string{"environ", "cmdline"} {
		raw, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + file)
		for _, text := range texts {
			if bytes.Contains(raw, []byte(text)) {
				return true
			}
		}
	}

	return false
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

// end every descendant. It is false if some cannot be killed.
func (r *reaper) end(grace time.Duration) bool {
	return end(grace, func() ([]int, bool) {
		if !r.reap() {
			return nil, false
		}

		return descendants(unix.Getpid()), true
	})
}

// status of an ended process, as shells give it.
func status(ws syscall.WaitStatus) int {
	if ws.Signaled() {
		return 128 + int(ws.Signal()) // As in sh(1).
	}

	return ws.ExitStatus()
}
