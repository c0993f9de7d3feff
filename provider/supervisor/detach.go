package supervisor

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Detached returns an argv that becomes the given one after it has left its
// controlling terminal and emptied its standard input. Nothing that it starts
// can prompt then. ansible-runner gives its play a terminal, and a play that
// prompts would wait there until it is timed out.
func Detached(self []string, argv ...string) []string {
	return append(append(append([]string{}, self...), "--detach", "--"), argv...)
}

func detach(argv []string) int {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fail(exitNotFound, fmt.Errorf("cannot find the command: %w", err))
	}

	if err := leaveTerminal(); err != nil {
		return fail(exitFailure, err)
	}

	err = syscall.Exec(path, argv, os.Environ())

	return fail(exitNotFound, fmt.Errorf("cannot start %q: %w", path, err))
}

func leaveTerminal() error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return fmt.Errorf("cannot open an empty standard input: %w", err)
	}

	if err := unix.Dup3(int(null.Fd()), 0, 0); err != nil {
		return fmt.Errorf("cannot empty the standard input: %w", err)
	}

	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil
	}

	defer tty.Close() //nolint:errcheck // Nothing was written to it.

	// ioctl_tty(2): SIGHUP goes to the foreground process group of a session
	// leader that gives its terminal up.
	signal.Ignore(syscall.SIGHUP)

	if err := unix.IoctlSetInt(int(tty.Fd()), unix.TIOCNOTTY, 0); err != nil {
		return fmt.Errorf("cannot leave the terminal: %w", err)
	}

	return nil
}
