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

// memoryPoll is how often the memory of a command is measured. Against a process that takes
// memory faster than that, it has a limit of its own.
const memoryPoll = 500 * time.Millisecond

// A MemoryError says that a command was ended since it took too much memory.
type MemoryError struct {
	// Limit that was exceeded, in bytes.
	Limit int64
	// Share says what the limit is; empty for no explanation.
	Share string
}

// Error says what was exceeded.
func (e *MemoryError) Error() string {
	text := fmt.Sprintf("took more memory than %d MiB", e.Limit>>20) // Mebibytes.
	if e.Share != "" {
		text += ", " + e.Share
	}

	return text
}

// watchMemory of all descendants of a supervisor. When they take more than they may together,
// they are killed without a grace, in which they could take more. Stop returns a MemoryError
// then, and nil otherwise.
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

// memory that processes take, in bytes. Shared memory counts once if that matters for the limit:
// the kernel takes longer to say so.
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

// Resident memory of a process, in bytes; the second field of proc_pid_statm(5).
func Resident(pid int) int64 {
	raw, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")

	fields := bytes.Fields(raw)
	if len(fields) < 2 {
		return 0
	}

	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)

	return pages * int64(os.Getpagesize())
}

// proportional set size of a process, in bytes, by proc_pid_smaps_rollup(5). A process may keep
// others from reading it: then all of its resident memory counts.
func proportional(pid int) int64 {
	raw, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")

	for s := bufio.NewScanner(bytes.NewReader(raw)); s.Scan(); {
		f := bytes.Fields(s.Bytes())
		if len(f) < 2 || string(f[0]) != "Pss:" { // The name and the number.
			continue
		}

		if n, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
			return n << 10 // Kibibytes.
		}
	}

	return Resident(pid)
}
