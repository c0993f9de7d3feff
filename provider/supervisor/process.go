package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// A process is known by its id and its start time, since ids are used again.
type process struct {
	pid   int
	start string
}

// A table of the processes of this machine. It is opened before anything is started: processes
// of the same user could later lower this process's limit of open files.
type table struct {
	proc *os.File
	// reading is held for as long as the position in the file matters.
	reading *sync.Mutex
}

func openTable() (table, error) {
	f, err := os.Open("/proc")
	if err != nil {
		return table{}, fmt.Errorf("cannot look for processes: %w", err)
	}

	return table{proc: f, reading: &sync.Mutex{}}, nil
}

// A family has the known processes by the ids of their parents, those included that have ended
// and that their parents have not waited for.
type family map[int][]process

// family of all processes. The error says that some may be missing, but never
// children of this process.
func (t table) family() (family, error) {
	pids, err := t.pids()
	if err != nil {
		return nil, err
	}

	f := family{}

	for _, pid := range pids {
		p, parent, serr := stat(pid)

		switch {
		case serr == nil:
			f[parent] = append(f[parent], p)
		case gone(serr):
		case isChild(pid):
			f[unix.Getpid()] = append(f[unix.Getpid()], process{pid: pid})
			err = serr
		default:
			err = serr
		}
	}

	return f, err
}

// descendants of a process, in no order.
func (f family) descendants(root int) []process {
	var found []process

	for next := []process{{pid: root}}; len(next) > 0; next = next[1:] {
		found = append(found, f[next[0].pid]...)
		next = append(next, f[next[0].pid]...)
	}

	return found
}

func (t table) pids() ([]int, error) {
	t.reading.Lock()
	defer t.reading.Unlock()

	if _, err := t.proc.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("cannot look for processes: %w", err)
	}

	names, err := t.proc.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("cannot look for processes: %w", err)
	}

	ids := make([]int, 0, len(names))

	for _, n := range names {
		if id, err := strconv.Atoi(n); err == nil {
			ids = append(ids, id)
		}
	}

	return ids, nil
}

// gone is true for the error of a process that is not there any more.
func gone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) }

// isChild is true for a child of this process that it has not waited for. It opens no file, and
// so works without free descriptors.
func isChild(pid int) bool {
	return unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == nil
}

// stat reads a process and its parent's id from proc_pid_stat(5): the fields
// after the command, which may itself contain spaces and parentheses, are
// state, ppid, …; starttime is the 22nd of all.
func stat(pid int) (process, int, error) {
	const (
		afterCommand = 3
		ppid         = 4 - afterCommand
		starttime    = 22 - afterCommand
	)

	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, 0, fmt.Errorf("cannot look at a process: %w", err)
	}

	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	if len(fields) <= starttime {
		return process{}, 0, fmt.Errorf("cannot look at a process: %q", raw)
	}

	parent, err := strconv.Atoi(string(fields[ppid]))

	return process{pid: pid, start: string(fields[starttime])}, parent, err
}
