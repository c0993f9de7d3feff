package supervisor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// drainPatience is how long reading may take what was written when all that wrote it
// have ended.
const drainPatience = time.Minute

// An output is what a command writes, on its way to who wants it. Unlike that of
// exec.Cmd it does not keep anybody from seeing that the supervisor has ended:
// what a supervisor leaves that is killed holds the other end.
type output struct {
	streams []stream
	copying sync.WaitGroup
}

// A stream is a pipe, and where to what comes out of it goes.
type stream struct {
	r, w *os.File
	to   io.Writer
}

// output of a command that was not started yet.
func (c Command) output(cmd *exec.Cmd) (*output, error) {
	o := &output{}

	var err error
	if cmd.Stdout, err = o.stream(c.Stdout); err != nil {
		return nil, err
	}

	if cmd.Stderr = cmd.Stdout; c.Stderr != c.Stdout {
		if cmd.Stderr, err = o.stream(c.Stderr); err != nil {
			return nil, errors.Join(err, o.close())
		}
	}

	return o, nil
}

func (o *output) stream(to io.Writer) (io.Writer, error) {
	if to == nil {
		return nil, nil
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

// wait until all that was written has arrived. All who may write have ended by now:
// who still has the other end was given it, or cannot be killed.
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
				// What is being copied is copied; nothing more is read.
				_ = s.r.SetReadDeadline(time.Now())
			}
		}
	}
}

// empty is true for a pipe that nothing was written to that was not read.
func empty(f *os.File) bool {
	c, err := f.SyscallConn()
	if err != nil {
		return true
	}

	n := 0
	_ = c.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })

	return err != nil || n == 0
}
