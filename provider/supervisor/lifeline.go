package supervisor

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A lifeline is a pair of sockets between a supervisor and the process that started it. No other process has it. The
// end of the stream tells the supervisor that the process is gone. The supervisor writes a byte to it when it has done
// its work: the exit status alone does not prove that, since the supervisor may have been killed.
type lifeline struct {
	ours, theirs *os.File
	// worked is the last result of done.
	worked bool
}

func newLifeline() (*lifeline, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot make the supervisor's lifeline: %w", err)
	}

	return &lifeline{ours: os.NewFile(uintptr(fds[0]), "lifeline"), theirs: os.NewFile(uintptr(fds[1]), "lifeline")}, nil
}

// done is true if the supervisor, which has ended, has done its work.
func (l *lifeline) done() bool {
	_ = l.theirs.Close()
	n, _ := l.ours.Read(make([]byte, 1))

	l.worked = n == 1

	return l.worked
}

// end tells the supervisor to end the command, as if this process were gone. In contrast to a signal, this also reaches
// a supervisor that has not yet installed its handlers.
func (l *lifeline) end() {
	if c, err := l.ours.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
	}
}

func (l *lifeline) close() {
	_ = l.theirs.Close()
	_ = l.ours.Close()
}

// ownerGone returns a channel that is closed when the other end of f is closed: when the process that has started this
// supervisor is gone, or calls end.
func ownerGone(f *os.File) <-chan struct{} {
	gone := make(chan struct{})

	go func() {
		_, _ = io.Copy(io.Discard, f)

		close(gone)
	}()

	return gone
}
