package supervisor

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// drainPatience is the longest time of copying after all processes of the command have ended.
const drainPatience = 30 * time.Second

// copied returns a file for the output of a command, which is copied to a writer. done waits until all output is
// copied. It is called after the end of the command: a process that still has the file open received it from the
// command, or cannot be killed. exec.Cmd has the same function, but cannot start a warm command.
func copied(to io.Writer) (file *os.File, done func(), err error) {
	if to == nil {
		to = io.Discard
	}

	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make a pipe for the output: %w", err)
	}

	var copying sync.WaitGroup

	copying.Go(func() { _, _ = io.Copy(to, r) })

	return w, func() {
		_ = w.Close()
		_ = r.SetReadDeadline(time.Now().Add(drainPatience))

		copying.Wait()

		_ = r.Close()
	}, nil
}
