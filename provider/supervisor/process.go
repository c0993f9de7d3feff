package supervisor

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
)

// A process is known by its id and its start time, since ids are used again.
type process struct {
	pid   int
	start string
}

// descendants of a process, in no order, those included that have ended and that their parents have not waited for.
func descendants(root int) []process {
	children := map[int][]process{}

	for _, pid := range pids() {
		// One that cannot be looked at has ended.
		if p, parent, err := stat(pid); err == nil {
			children[parent] = append(children[parent], p)
		}
	}

	found := slices.Clone(children[root])
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].pid]...)
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
