package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// LeftAfter is how long a supervisor takes at most to end everything, from when it is
// told to, or the process that started it has ended. One that takes longer was stopped, or hangs.
func LeftAfter(grace time.Duration) time.Duration { return grace + 2*killPatience }

// A LeftError says that processes of a command were killed and do not end.
type LeftError struct{}

// Error says what that may be.
func (*LeftError) Error() string {
	return "some of its processes were killed and do not end: the machine may wait for a disk that does not answer"
}

// EndLeft kills the processes that have one of some texts in their environment or in their
// arguments, and the processes that these start meanwhile. They are left when the
// supervisor was killed. A process that cannot be
// killed does nothing any more, and is no error.
func EndLeft(texts ...string) error {
	for h := newTermination(0); !h.stuck(); {
		left, err := having(texts)
		if err != nil || len(left) == 0 {
			return err
		}

		if !h.signal(left) {
			time.Sleep(endPoll)
		}

		// A process that has lost its parent may have become a child of this one, and stays until it is waited for.
		for _, p := range left {
			_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
		}
	}

	return nil
}

// having returns the processes with one of the texts. A process that has ended has none any
// more.
func having(texts []string) ([]process, error) {
	var found []process

	for _, pid := range pids() {
		has, err := mentions(pid, texts)
		if err != nil {
			return nil, err
		}

		if !has || pid == unix.Getpid() {
			continue
		}

		p, _, err := stat(pid)

		switch {
		case err == nil:
			found = append(found, p)
		case !gone(err):
			return nil, err
		}
	}

	return found, nil
}

// mentions is true for a process with one of the texts in its environment or in its
// arguments. The environment of another user's process, or of a supervisor, cannot be read.
func mentions(pid int, texts []string) (bool, error) {
	for _, file := range []string{"environ", "cmdline"} {
		raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + file)
		if err != nil && !gone(err) && !errors.Is(err, os.ErrPermission) {
			return false, fmt.Errorf("cannot look at a process: %w", err)
		}

		for _, text := range texts {
			if bytes.Contains(raw, []byte(text)) {
				return true, nil
			}
		}
	}

	return false, nil
}

// gone is true for the error of a process that is not there any more.
func gone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) }
