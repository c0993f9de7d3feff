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
	// endPoll is the interval at which processes that are being ended are listed.
	endPoll = 10 * time.Millisecond
	// killPatience is the time in which a process must end after SIGKILL. A process that still exists then executes no
	// code of its own: the kernel keeps it, often because it waits for a disk (state D), and ends it as soon as possible.
	killPatience = 5 * time.Second
)

// kill sends SIGKILL to processes.
func kill(pids []int) {
	for _, pid := range pids {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// descendants returns the ids of the descendants of a process, in no order, including zombies.
func descendants(root int) []int {
	children := map[int][]int{}

	for _, pid := range processes() {
		// A process that cannot be read has ended.
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

// processes returns the ids of all processes.
func processes() []int {
	entries, _ := os.ReadDir("/proc") // Without /proc, processes cannot be listed.

	var ids []int

	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			ids = append(ids, id)
		}
	}

	return ids
}

// parent returns the id of the parent of a process, from proc_pid_stat(5): the name of the command, which may contain
// spaces and parentheses, is followed by the state and the id of the parent.
func parent(pid int) (int, error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, fmt.Errorf("cannot read the state of a process: %w", err)
	}

	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	if len(fields) < 2 {
		return 0, fmt.Errorf("cannot parse the state of a process: %q", raw)
	}

	return strconv.Atoi(string(fields[1]))
}

// A reaper waits for the children of this process.
type reaper struct {
	// child is the id of the command; the other children were adopted.
	child int
	// code is the command's exit status, once it has ended.
	code  int
	ended bool
}

// reap waits for all children that have ended. It returns false if no child is left. Then no descendant is left either,
// since orphans become children.
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
		// After its end, the id may belong to another process.
		case pid == r.child && !r.ended:
			r.code, r.ended = status(ws), true
		}
	}
}

// end ends every descendant: with SIGTERM, and with SIGKILL after the grace. It returns false if all descendants that
// are left have received SIGKILL more than killPatience ago.
func (r *reaper) end(grace time.Duration) bool {
	killFrom := time.Now().Add(grace)
	signal := unix.SIGTERM

	var since map[int]time.Time // The time at which each process received the signal.

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

		// Without a pause after new processes: they may fork and end before the next list.
		if !news {
			time.Sleep(endPoll)
		}

		since = found
	}

	return true
}

// status returns the exit status of an ended process, in the notation of sh(1).
func status(ws syscall.WaitStatus) int {
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}

	return ws.ExitStatus()
}
