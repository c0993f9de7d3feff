package controlplane

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Times that pieces have for starting and stopping.
const (
	startup  = 2 * time.Minute
	shutdown = 30 * time.Second
)

// A Piece of the stack is one process in the background.
type Piece struct {
	// Name of the piece, and of its log.
	Name string

	// Log is the file that the output is appended to.
	Log string

	stack string
	path  string
	args  []string
	env   []string
	ready func(context.Context) error

	// apart gives the process a mount namespace of its own.
	apart bool

	// within is a command that becomes the process, elsewhere.
	within []string
}

// An outcome says what was done to bring a piece up.
type outcome string

const (
	outcomeRunning   outcome = "running"
	outcomeStarted   outcome = "started"
	outcomeRestarted outcome = "restarted"
)

// ensure that the piece runs from the binary that is there now with the
// arguments it should have, and is ready.
func (p *Piece) ensure(ctx context.Context) (outcome, error) {
	mains, err := p.mains()
	if err != nil {
		return "", err
	}
	current := func(m process) bool { return m.runs(p.path) && slices.Equal(m.args[1:], p.args) }
	if len(mains) == 1 && current(mains[0]) {
		return outcomeRunning, p.await(ctx, mains[0])
	}
	if len(mains) == 0 {
		return outcomeStarted, p.Start(ctx)
	}
	if err := end(ctx, mains, shutdown); err != nil {
		return "", err
	}
	return outcomeRestarted, p.Start(ctx)
}

// Start the piece and wait until it is ready. It must not be running.
func (p *Piece) Start(ctx context.Context) error {
	mains, err := p.mains()
	if err != nil {
		return err
	}
	if len(mains) > 0 {
		return errors.Errorf("%s is running already, as process %d", p.Name, mains[0].Pid)
	}
	if err := os.MkdirAll(filepath.Dir(p.Log), 0o750); err != nil {
		return errors.Wrap(err, "cannot make directory for logs")
	}
	if _, err := os.Stat(p.path); err != nil {
		return errors.Wrapf(err, "cannot start %s, has it been built?", p.Name)
	}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Wrap(err, "cannot open log")
	}
	defer log.Close() //nolint:errcheck // The process has its own descriptor.

	argv := slices.Concat(p.within, []string{p.path}, p.args)
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // The process outlives the context.
	cmd.Env = slices.Concat(p.env, []string{envStack + "=" + p.stack, envPiece + "=" + p.Name})
	cmd.Dir = p.stack
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if p.apart {
		cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
	}
	if err := cmd.Start(); err != nil {
		return errors.Wrapf(err, "cannot start %s", p.Name)
	}
	handle, err := os.FindProcess(cmd.Process.Pid)
	if err != nil {
		return errors.Wrapf(err, "cannot watch %s", p.Name)
	}
	// Without this wait it would stay as a zombie after its end.
	go cmd.Wait() //nolint:errcheck // Other waits for the piece see that it ended.

	return p.await(ctx, process{Process: handle, piece: p.Name})
}

// await that a running piece is ready.
func (p *Piece) await(ctx context.Context, m process) error {
	ctx, cancel := context.WithTimeout(ctx, startup)
	defer cancel()
	for {
		err := p.ready(ctx)
		if err == nil {
			return nil
		}
		// Wait for its end rather than for some time: so a piece that cannot
		// start is reported at once.
		ended, eerr := m.ended(100 * time.Millisecond)
		if eerr != nil {
			return eerr
		}
		if ended {
			return errors.Errorf("%s ended before it was ready", p.Name)
		}
		if ctx.Err() != nil {
			return errors.Wrapf(err, "%s is not ready after %s", p.Name, startup)
		}
	}
}

// Stop the piece and all that is left of it, and wait for their end.
func (p *Piece) Stop(ctx context.Context) error {
	ps, err := p.processes()
	if err != nil {
		return err
	}
	// Children come later: their parent may want to end them in its own way.
	child := func(m process) bool {
		return slices.ContainsFunc(ps, func(o process) bool { return o.Pid == m.parent })
	}
	if err := end(ctx, slices.DeleteFunc(slices.Clone(ps), child), shutdown); err != nil {
		return errors.Wrapf(err, "cannot stop %s", p.Name)
	}
	if ps, err = p.processes(); err != nil {
		return err
	}
	return errors.Wrapf(end(ctx, ps, shutdown), "cannot stop what %s left", p.Name)
}

// Kill the main process of the piece, and only that, with SIGKILL, and wait for
// its end.
func (p *Piece) Kill(ctx context.Context) error {
	mains, err := p.mains()
	if err != nil {
		return err
	}
	return errors.Wrapf(end(ctx, mains, 0), "cannot kill %s", p.Name)
}

// Running says whether the main process of the piece is there.
func (p *Piece) Running() (bool, error) {
	mains, err := p.mains()
	return len(mains) > 0, err
}

// mains are the processes that were started as this piece, as opposed to the
// children that inherited its environment.
func (p *Piece) mains() ([]process, error) {
	ps, err := p.processes()
	started := func(m process) bool {
		return len(m.args) > 1 && filepath.Base(m.args[0]) == filepath.Base(p.path) && m.args[1] == p.args[0]
	}
	return slices.DeleteFunc(ps, func(m process) bool { return !started(m) }), err
}

// processes that carry the mark of this piece.
func (p *Piece) processes() ([]process, error) {
	ps, err := processes(p.stack)
	return slices.DeleteFunc(ps, func(m process) bool { return m.piece != p.Name }), err
}
