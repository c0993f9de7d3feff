package supervisor

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// memoryPoll is the interval at which the memory of a command is measured. Each process also has a limit of its own,
// for memory that it allocates faster.
const memoryPoll = 500 * time.Millisecond

// A MemoryError is the error of a command that was ended because it used too much memory.
type MemoryError struct {
	// Limit that was exceeded, in bytes.
	Limit int64
	// Share explains the limit; empty for no explanation.
	Share string
}

// Error returns a message with the limit in MiB.
func (e *MemoryError) Error() string {
	text := fmt.Sprintf("took more memory than %d MiB", e.Limit>>20)
	if e.Share != "" {
		text += ", " + e.Share
	}

	return text
}

// watchMemory watches the memory of all descendants of a supervisor. If they exceed Limits.Together, it kills them with
// SIGKILL at once, since they could allocate more memory during a grace. stop returns a MemoryError in this case, and
// nil otherwise.
func watchMemory(supervisor int, l sandbox.Limits) (stop func() error) {
	limit := l.Together
	if limit <= 0 {
		return func() error { return nil }
	}

	var (
		watching sync.WaitGroup
		exceeded atomic.Bool
	)

	done := make(chan struct{})

	watching.Go(func() {
		t := time.NewTicker(memoryPoll)
		defer t.Stop()

		for {
			select {
			case <-done:
				return
			case <-t.C:
			}

			found := descendants(supervisor)
			if !exceeded.Load() && memory(found, limit) <= limit {
				continue
			}

			exceeded.Store(true)
			kill(found)
		}
	})

	return func() error {
		close(done)
		watching.Wait()

		if exceeded.Load() {
			return &MemoryError{Limit: limit, Share: l.Share}
		}

		return nil
	}
}

// memory returns the memory of processes, in bytes. Shared memory counts only once if the sum would exceed the limit
// otherwise: the kernel needs longer to compute that.
func memory(found []int, limit int64) int64 {
	sum := int64(0)
	for _, pid := range found {
		sum += Resident(pid)
	}

	if sum <= limit {
		return sum
	}

	sum = 0
	for _, pid := range found {
		sum += proportional(pid)
	}

	return sum
}

// Resident returns the resident set size of a process, in bytes, from proc_pid_statm(5); 0 if it cannot be read.
func Resident(pid int) int64 {
	raw, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")

	fields := bytes.Fields(raw)
	if len(fields) < 2 {
		return 0
	}

	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)

	return pages * int64(os.Getpagesize())
}

// proportional returns the proportional set size of a process, in bytes, from proc_pid_smaps_rollup(5). If a process
// prevents others from reading it, this is its resident set size.
func proportional(pid int) int64 {
	raw, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")

	for s := bufio.NewScanner(bytes.NewReader(raw)); s.Scan(); {
		f := bytes.Fields(s.Bytes())
		if len(f) < 2 || string(f[0]) != "Pss:" {
			continue
		}

		if n, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
			return n << 10 // The unit is KiB.
		}
	}

	return Resident(pid)
}
