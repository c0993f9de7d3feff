package supervisor

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A lifeline is a pair of sockets between a supervisor and the process that started it, which
// no other process has. By its end the supervisor knows that the process is gone. Over it the
// supervisor says that it has done its work: the exit status alone does not tell, since the
// supervisor may have been killed.
type lifeline struct {
	ours, theirs *os.File
	// worked is true if done was.
	worked bool
}

func newLifeline() (*lifeline, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot make the supervisor's lifeline: %w", err)
	}

	return &lifeline{ours: os.NewFile(uintptr(fds[0]), "lifeline"), theirs: os.NewFile(uintptr(fds[1]), "lifeline")}, nil
}

// done is true if a supervisor had done its work when it ended.
func (l *lifeline) done() bool {
	_ = l.theirs.Close()
	n, _ := l.ours.Read(make([]byte, 1))

	l.worked = n == 1

	return l.worked
}

// end has the supervisor end everything, as if this process were gone. Unlike a signal this waits for a supervisor
// that has only been started.
func (l *lifeline) end() {
	if c, err := l.ours.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
	}
}

func (l *lifeline) close() {
	_ = l.theirs.Close()
	_ = l.ours.Close()
}

// ownerGone returns a channel that is closed when the process is gone that has the other end of
// f: the one that has started this supervisor.
func ownerGone(f *os.File) <-chan struct{} {
	gone := make(chan struct{})

	go func() {
		_, _ = io.Copy(io.Discard, f)

		close(gone)
	}()

	return gone
}
