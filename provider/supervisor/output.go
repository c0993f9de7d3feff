package supervisor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// drainPatience is how long copying may go on when all processes of the command have ended.
const drainPatience = time.Minute

// An output copies what a command writes. exec.Cmd does so, too, but its Wait would not return
// while processes that a killed supervisor has left hold the other end of a pipe.
type output struct {
	// stdout and stderr are the ends for the command.
	stdout, stderr *os.File

	streams []stream
	copying sync.WaitGroup
}

// A stream is a pipe, and the writer that gets what is read from it.
type stream struct {
	r, w *os.File
	to   io.Writer
}

// output of a command that was not started yet.
func (c Command) output() (*output, error) {
	o := &output{}

	var err error
	if o.stdout, err = o.stream(c.Stdout); err != nil {
		return nil, err
	}

	if o.stderr = o.stdout; c.Stderr != c.Stdout {
		if o.stderr, err = o.stream(c.Stderr); err != nil {
			return nil, errors.Join(err, o.close())
		}
	}

	return o, nil
}

func (o *output) stream(to io.Writer) (*os.File, error) {
	if to == nil {
		to = io.Discard
	}

	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make a pipe for the output: %w", err)
	}

	o.streams = append(o.streams, stream{r, w, to})

	return w, nil
}

// close the output of a command that was not started.
func (o *output) close() error {
	var err error
	for _, s := range o.streams {
		err = errors.Join(err, s.r.Close(), s.w.Close())
	}

	return err
}

// copy what a command writes that was started.
func (o *output) copy() {
	for _, s := range o.streams {
		_ = s.w.Close()

		o.copying.Go(func() {
			_, _ = io.Copy(s.to, s.r)
			_ = s.r.Close()
		})
	}
}

// wait until everything that was written has been copied. The processes of the command have
// ended by now: one that still has the other end was given it, or cannot be killed.
func (o *output) wait() {
	done := make(chan struct{})

	go func() {
		defer close(done)

		o.copying.Wait()
	}()

	for deadline := time.Now().Add(drainPatience); ; {
		select {
		case <-done:
			return
		case <-time.After(endPoll):
		}

		for _, s := range o.streams {
			if empty(s.r) || time.Now().After(deadline) {
				// What was read is still copied, and nothing more is read.
				_ = s.r.SetReadDeadline(time.Now())
			}
		}
	}
}

// empty is true for a pipe from which everything was read.
func empty(f *os.File) bool {
	c, err := f.SyscallConn()
	if err != nil {
		return true
	}

	n := 0
	_ = c.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })

	return err != nil || n == 0
}
