package supervisor

import (
	"bytes"
	"os"
	"strconv"
)

// A process is known by its id and its start time, since ids are used again.
type process struct {
	pid   int
	start string
}

// children of a process.
func children(parent int) []process {
	var found []process

	for _, pid := range pids() {
		if p, of, ok := stat(pid); ok && of == parent {
			found = append(found, p)
		}
	}

	return found
}

// descendants of a process, in no order. Those that have ended but were not
// waited for by their parent yet are among them.
func descendants(root int) []process {
	children := map[int][]process{}

	for _, pid := range pids() {
		if p, parent, ok := stat(pid); ok {
			children[parent] = append(children[parent], p)
		}
	}

	var found []process

	for next := []process{{pid: root}}; len(next) > 0; next = next[1:] {
		found = append(found, children[next[0].pid]...)
		next = append(next, children[next[0].pid]...)
	}

	return found
}

func pids() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}

	defer d.Close() //nolint:errcheck // It was only read.

	names, _ := d.Readdirnames(-1)
	ids := make([]int, 0, len(names))

	for _, n := range names {
		if id, err := strconv.Atoi(n); err == nil {
			ids = append(ids, id)
		}
	}

	return ids
}

// stat reads a process and its parent's id from proc_pid_stat(5): the fields
// after the command, which may itself contain spaces and parentheses, are
// state, ppid, …; starttime is the 22nd of all.
func stat(pid int) (process, int, bool) {
	const (
		afterCommand = 3
		ppid         = 4 - afterCommand
		starttime    = 22 - afterCommand
	)

	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, 0, false
	}

	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	if len(fields) <= starttime {
		return process{}, 0, false
	}

	parent, err := strconv.Atoi(string(fields[ppid]))

	return process{pid: pid, start: string(fields[starttime])}, parent, err == nil
}
