package supervisor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// drainPatience is how long copying may go on when all processes of the command have ended.
const drainPatience = 30 * time.Second

// An output copies what a command writes. exec.Cmd does so, too, but a warm command is not started by one.
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
	for _, s := range o.streams {
		_ = s.r.SetReadDeadline(time.Now().Add(drainPatience))
	}

	o.copying.Wait()
}
