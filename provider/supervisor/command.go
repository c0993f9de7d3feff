package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/provider/confine"
)

// Exit statuses of a supervisor that could not do its work, as env and similar
// tools use them.
const (
	exitFailure  = 125
	exitNotFound = 127
)

// A Command to run under a supervisor.
type Command struct {
	// Self is the argv that executes this binary as a supervisor. What follows
	// it is passed to Main.
	Self []string
	// Argv of the command. The first is the path of its executable.
	Argv []string
	// Env of the command, and all of it.
	Env []string
	// Dir is the working directory of the command.
	Dir string
	// Stdout and Stderr of the command. Standard input is empty.
	Stdout, Stderr io.Writer
	// Grace is what the descendants of the command get to end on their own
	// after SIGTERM, before they are killed.
	Grace time.Duration
	// Domain that the command is confined to, and all that it starts.
	Domain confine.Domain
	// Lock that the supervisor holds until the last descendant is gone; may be
	// nil.
	Lock *os.File
}

// Run the command until it and all of its descendants have ended, and return
// its exit status: 128 plus the number of the signal that ended it. Descendants
// are ended when the context is done. The error is about the supervisor, never
// about the command.
func (c Command) Run(ctx context.Context) (int, error) {
	// The supervisor reads the end of this process from the pipe: nothing is
	// ever written to it.
	r, w, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("cannot make the supervisor's pipe: %w", err)
	}

	defer w.Close() //nolint:errcheck // Nothing was written to it.

	defer r.Close() //nolint:errcheck // Nothing is read from it here.

	cmd, err := c.build(ctx, r)
	if err != nil {
		return 0, err
	}

	if err := adopt(); err != nil {
		return 0, err
	}

	o, err := c.output(cmd)
	if err != nil {
		return 0, err
	}

	if err := supervisors.start(cmd); err != nil {
		return 0, fmt.Errorf("cannot start the supervisor: %w", errors.Join(err, o.close()))
	}

	o.copy()

	err = cmd.Wait()

	supervisors.ended(cmd)

	// What is left of a run still has its output.
	if cmd.ProcessState.ExitCode() < 0 {
		endOrphans(c.Grace)
	}

	o.wait()

	switch code := cmd.ProcessState.ExitCode(); code {
	case exitFailure, exitNotFound:
		return 0, fmt.Errorf("cannot run %q under its supervisor", c.Argv[0])
	case -1:
		return 0, fmt.Errorf("the supervisor did not end by itself: %w", err)
	default:
		return code, nil
	}
}

func (c Command) build(ctx context.Context, lifeline *os.File) (*exec.Cmd, error) {
	argv, err := confined(c.Self, c.Domain, c.Argv...)
	if err != nil {
		return nil, err
	}

	args := append([]string{}, c.Self[1:]...)
	args = append(args, "--grace="+c.Grace.String(), "--")

	cmd := exec.CommandContext(ctx, c.Self[0], append(args, argv...)...)
	cmd.Env = c.Env
	cmd.Dir = c.Dir
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.ExtraFiles = []*os.File{lifeline}

	if c.Lock != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, c.Lock)
	}

	// Of its own session, so that the keys of a terminal reach only the process
	// that owns the command, and nothing can prompt.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}

	return cmd, nil
}
