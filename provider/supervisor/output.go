package supervisor

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// drainPatience is how long copying may go on when all processes of the command have ended.
const drainPatience = 30 * time.Second

// copied returns a file for a command to write to. What it writes is copied to a writer, until done has copied all. The
// processes of the command have ended by then: one that still has the file was given it, or cannot be killed.
// exec.Cmd does so, too, but starts no warm command.
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
