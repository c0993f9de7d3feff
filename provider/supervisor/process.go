package supervisor

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// A process is known by its id and its start time, since ids are used again.
type process struct {
	pid   int
	start string
}

// A family has processes by the ids of their parents, those included that have ended
// and that their parents have not waited for.
type family map[int][]process

// relatives are all processes of this machine that can be looked at.
func relatives() family {
	f := family{}

	for _, pid := range pids() {
		// One that cannot be looked at has ended.
		if p, parent, err := stat(pid); err == nil {
			f[parent] = append(f[parent], p)
		}
	}

	return f
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

// pids of all processes.
func pids() []int {
	entries, _ := os.ReadDir("/proc") // Linux without it has no processes to be seen.

	var ids []int

	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			ids = append(ids, id)
		}
	}

	return ids
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
