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

// Exit statuses of a supervisor: exitLeft if processes are left. The others are those of env(1), for a command that was
// not executed.
const (
	exitLeft     = 124
	exitFailure  = 125
	exitNotFound = 127
)

// ErrNotStarted is the error when the supervisor was not started.
var ErrNotStarted = errors.New("nothing was started")

// ErrFailed is the error when the supervisor has done its work with exitFailure: the command could not enter its
// domain, or has exited with this status itself.
var ErrFailed = errors.New("it could not be confined or started")

// ErrLeft is the error when processes of a command do not end after SIGKILL.
var ErrLeft = errors.New(
	"some of its processes were killed and do not end: the machine may wait for a disk that does not answer")

// A Command to run under a supervisor.
type Command struct {
	// Argv of the command. The first is the path of its executable.
	Argv []string
	// Env is the complete environment of the command.
	Env []string
	// Dir is the working directory of the command.
	Dir string
	// Stdout and Stderr of the command. Standard input is empty.
	Stdout, Stderr io.Writer
	// Grace is the time between SIGTERM and SIGKILL when the descendants of the command are ended.
	Grace time.Duration
	// Domain confines the command and its descendants.
	Domain sandbox.Domain
	// Lock is a file that the supervisor keeps open, and so locked, until the last descendant is gone. It may be nil if
	// Warm is.
	Lock *os.File
	// Warm starts the command by forking a warm process, instead of executing Argv. It may be nil.
	Warm Starter
}

// A Starter starts a command by forking a process that has already loaded it.
type Starter interface {
	// Start starts a command and its supervisor. It returns the process of the supervisor, a child of this process, which
	// executes the argv self with the option --child, the id of the process of the command. The process of the command
	// enters the domain before it does anything else. Standard output and error of both are the first two files; the
	// supervisor has the lifeline and the lock, the other files, as descriptors 3 and 4. Run reports the error as an
	// ErrNotStarted.
	Start(c Command, self []string, files ...*os.File) (*os.Process, error)
}

// Run runs the command until it and all its descendants have ended, and returns its exit status: 128 plus the number of
// the signal that ended it, if any. The end of the context ends the descendants; Run returns soon after that, even if
// they stop the supervisor. The error is about the supervisor, never about the command. It is ErrLeft if processes are
// left, a MemoryError if the processes used too much memory, and ErrNotStarted if certainly no process was started.
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

// wait waits for the end of a supervisor, and returns its exit status. The error says that the supervisor did not end
// by itself. If the context is done and the supervisor does not end in time, it is killed with its descendants, and
// left alone if it does not end even then.
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

		patience := c.Grace + 2*killPatience // The supervisor needs less.

		time.AfterFunc(patience, func() {
			select {
			case <-ended: // The id may belong to another process now.
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

// start starts the supervisor: another process of this binary.
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

	// The supervisor stays outside of the domain: it must see the processes that it ends, and they must not be able to end
	// it.
	self = append(self, "--", path, asSupervisor, "--enter="+string(domain), "--")

	cmd := exec.Command(path, append(self[1:], c.Argv...)...) //nolint:noctx // The lifeline ends it.
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = c.Env, c.Dir, stdout, stderr, []*os.File{l.theirs}
	// A session of its own: keys of a terminal, such as ^C, signal only the process that owns the command, and no
	// process can prompt on the terminal.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}

	if c.Lock != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, c.Lock)
	}

	err = cmd.Start()

	return cmd.Process, err
}
