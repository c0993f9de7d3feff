package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// Exit statuses of a supervisor that could not do its work: that processes are left,
// and those that env and similar tools use when nothing has begun.
const (
	exitLeft     = 124
	exitFailure  = 125
	exitNotFound = 127
)

// ErrNotStarted is returned when not even the supervisor was started.
var ErrNotStarted = errors.New("nothing was started")

// ErrFailed is returned when a command has ended, and all of its descendants, with the exit status of
// one that was never reached.
var ErrFailed = errors.New("it could not be confined or started")

// ErrLeft is returned when processes of a command were killed and do not end.
var ErrLeft = errors.New(
	"some of its processes were killed and do not end: the machine may wait for a disk that does not answer")

// A Command to run under a supervisor.
type Command struct {
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
	Domain sandbox.Domain
	// Lock that the supervisor holds until the last descendant is gone. It may be nil for a command that is not Warm.
	Lock *os.File
	// Warm starts the command, instead of its argv, in a process that has loaded it
	// before. It may be nil.
	Warm Starter
}

// A Starter starts a command by forking a process that has loaded it before.
type Starter interface {
	// Start a command, with the argv self of its supervisor. The process that is returned, a child of this one, executes
	// that, followed by the option --child with the id of the command's process, which enters the domain before it does
	// anything. Both have the first two of the files as standard output and error; the supervisor has the others, the
	// lifeline and the lock, as the descriptors 3 and 4. The error is an ErrNotStarted.
	Start(c Command, self []string, files ...*os.File) (*os.Process, error)
}

// Run the command until it and all of its descendants have ended, and return
// its exit status: 128 plus the number of the signal that ended it. Descendants
// are ended when the context is done, and Run returns soon after that, whatever they
// do to the supervisor. The error is about the supervisor, never about the command;
// it is ErrLeft when processes are left, a MemoryError when they took too
// much memory, and an ErrNotStarted when it
// is certain that nothing was started.
func (c Command) Run(ctx context.Context) (int, error) {
	l, err := newLifeline()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	defer l.close()

	stdout, copyStdout, err := copied(c.Stdout)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	defer copyStdout()

	stderr := stdout

	if c.Stderr != c.Stdout {
		var copyStderr func()
		if stderr, copyStderr, err = copied(c.Stderr); err != nil {
			return 0, fmt.Errorf("%w: %w", ErrNotStarted, err)
		}
		defer copyStderr()
	}

	p, err := c.start(stdout, stderr, l)
	if err != nil {
		return 0, fmt.Errorf("%w: cannot start the supervisor: %w", ErrNotStarted, err)
	}

	stop := watchMemory(p.Pid, c.Domain.Limits)

	code, err := c.wait(ctx, p, l)
	exceeded := stop()

	switch {
	case err != nil:
		return 0, err
	case exceeded != nil:
		return 0, exceeded
	case code == exitFailure && l.worked:
		return 0, fmt.Errorf("cannot run %q: %w", c.Argv[0], ErrFailed)
	case code == exitFailure:
		return 0, fmt.Errorf("cannot run %q under its supervisor", c.Argv[0])
	case code == exitNotFound:
		return 0, fmt.Errorf(
			"cannot run %q: it, its interpreter or what it runs is missing or not executable; install Ansible again, or use "+
				"the image of the provider", c.Argv[0])
	}

	return code, nil
}

// wait for the end of a supervisor, and return its exit status. The error says that
// it did not end by itself. One that does not end in time, for whatever reason, is
// killed with its descendants, and one that does not end then either is left to itself.
func (c Command) wait(ctx context.Context, p *os.Process, l *lifeline) (int, error) {
	var state *os.ProcessState

	ended := make(chan struct{})

	go func() {
		defer close(ended)

		state, _ = p.Wait()
	}()

	lost := make(chan struct{})

	defer context.AfterFunc(ctx, func() {
		l.end()

		patience := c.Grace + 2*killPatience // The supervisor takes less.

		time.AfterFunc(patience, func() {
			select {
			case <-ended: // Its id may be that of another process by now.
			default:
				kill(descendants(p.Pid))

				_ = p.Kill()
			}
		})
		time.AfterFunc(patience+killPatience, func() { close(lost) })
	})()

	select {
	case <-ended:
	case <-lost:
		return 0, errors.New("the supervisor does not end")
	}

	code := state.ExitCode()
	if l.done() || code == exitFailure || code == exitNotFound {
		return code, nil
	}

	if code == exitLeft {
		return 0, ErrLeft
	}

	return 0, fmt.Errorf("the supervisor did not end by itself: %v", state)
}

// start the supervisor: this binary, executed once more.
func (c Command) start(stdout, stderr *os.File, l *lifeline) (*os.Process, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}

	self := []string{path, asSupervisor, "--grace=" + c.Grace.String()}

	if c.Warm != nil {
		return c.Warm.Start(c, self, stdout, stderr, l.theirs, c.Lock)
	}

	domain, err := json.Marshal(c.Domain)
	if err != nil {
		return nil, err
	}

	// The supervisor stays outside of the domain: it must see the processes that it has to end, and they must not be able
	// to end it.
	self = append(self, "--", path, asSupervisor, "--enter="+string(domain), "--")

	cmd := exec.Command(path, append(self[1:], c.Argv...)...) //nolint:noctx // It ends by its lifeline.
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = c.Env, c.Dir, stdout, stderr, []*os.File{l.theirs}
	// Of its own session, so that the keys of a terminal reach only the process
	// that owns the command, and nothing can prompt.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}

	if c.Lock != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, c.Lock)
	}

	err = cmd.Start()

	return cmd.Process, err
}
