package supervisor

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// adopt makes this process the parent of what a supervisor leaves that is killed
// itself, by the kernel for example, when there is no memory left.
func adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot become a subreaper: %w", err)
	}

	return nil
}

// endOrphans ends what killed supervisors have left to this process, as they
// would have done. Everything else that this process has started is a supervisor,
// which self is the start of the argv of.
func endOrphans(self []string, grace time.Duration) {
	asked, killed := map[process]bool{}, map[process]bool{}
	deadline := time.Now().Add(grace)

	for {
		left := orphans(self)
		if len(left) == 0 {
			return
		}

		sig, done := unix.SIGTERM, asked
		if time.Now().After(deadline) {
			sig, done = unix.SIGKILL, killed
		}

		for _, p := range left {
			if !done[p] {
				done[p] = true
				_ = unix.Kill(p.pid, sig)
			}
		}

		time.Sleep(endPoll)

		// Those that have ended stay until somebody asks how.
		for _, p := range left {
			_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// orphans of killed supervisors, with their descendants. Of those that have ended
// nobody knows any more what they were; they are left alone.
func orphans(self []string) []process {
	supervisor := strings.Join(self, "\x00") + "\x00"
	own := commandLine(unix.Getpid())

	var found []process

	for _, c := range children(unix.Getpid()) {
		// A child that has not become a supervisor yet still looks like its parent.
		line := commandLine(c.pid)
		if line == "" || line == own || strings.HasPrefix(line, supervisor) {
			continue
		}

		found = append(append(found, c), descendants(c.pid)...)
	}

	return found
}

// commandLine of a process, with a NUL after each argument; empty for one that
// has ended.
func commandLine(pid int) string {
	raw, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")

	return string(raw)
}
