package supervisor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

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

// wait until all that was written has arrived.
func (o *output) wait() { o.copying.Wait() }
