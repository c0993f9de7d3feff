package supervisor

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A lifeline is between a supervisor and the process that started it, and nobody
// else has it. A supervisor knows by it when that process is gone, and says over it
// that it has done its work: an exit status it could have without that, too.
type lifeline struct{ ours, theirs *os.File }

func newLifeline() (*lifeline, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot make the supervisor's lifeline: %w", err)
	}

	return &lifeline{ours: os.NewFile(uintptr(fds[0]), "lifeline"), theirs: os.NewFile(uintptr(fds[1]), "lifeline")}, nil
}

// done is true if a supervisor that has ended had done its work.
func (l *lifeline) done() bool {
	_ = l.theirs.Close()
	n, _ := l.ours.Read(make([]byte, 1))

	return n == 1
}

func (l *lifeline) close() {
	_ = l.theirs.Close()
	_ = l.ours.Close()
}

// ownerGone returns a channel that is closed when the process that has started this one,
// which has the other end of f, is gone.
func ownerGone(f *os.File) <-chan struct{} {
	gone := make(chan struct{})

	go func() {
		_, _ = io.Copy(io.Discard, f)

		close(gone)
	}()

	return gone
}
