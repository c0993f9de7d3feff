// Package runner carries runs out with ansible-runner: it lays out a private
// data directory, runs ansible-runner in it under a supervisor, and reads how
// it went.
package runner

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/own"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor/reexec"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// killGrace is what the processes of a run get to end on their own.
const killGrace = 5 * time.Second

// A Runner carries runs out, any number at the same time. Use New.
type Runner struct {
	dir     string
	self    []string
	environ []string
	grace   time.Duration
	shipped Shipped
	policy  sandbox.Policy
	// landlock is the kernel's version.
	landlock int
	// name of the next private data directory.
	name func() string
	left leftovers

	// python is the argv of the interpreter that has ansible-runner, and play of
	// ansible-playbook.
	python, play []string
}

// An Option of a Runner.
type Option func(*Runner)

// WithGrace sets how long the processes of a run may take to end on their own
// when they are to end, before they are killed; 5 s by default.
func WithGrace(d time.Duration) Option {
	return func(r *Runner) { r.grace = d }
}

// Shipped collections are the provider's own.
type Shipped interface {
	// Path to them.
	Path() string
	// Repair them if they were damaged.
	Repair() error
}

// WithShipped puts collections before all others, so that content finds them
// always, and none can take their place.
func WithShipped(s Shipped) Option {
	return func(r *Runner) { r.shipped = s }
}

// WithPolicy confines runs.
func WithPolicy(p sandbox.Policy) Option {
	return func(r *Runner) { r.policy = p }
}

// New returns a runner that makes private data directories in a directory,
// which is made if need be. It must be on a local disk, and no other provider
// may use it. The error says which tool is missing.
func New(dir string, o ...Option) (*Runner, error) {
	// Whoever knows the path of a file can do some things to it that the kernel does
	// not confine. Nobody can know, compute or guess these.
	r := &Runner{grace: killGrace, landlock: sandbox.Kernel(), name: rand.Text, environ: os.Environ()}

	for _, fn := range o {
		fn(r)
	}

	var err error
	if r.self, err = reexec.Self(); err != nil {
		return nil, err
	}

	if r.dir, err = filepath.Abs(dir); err != nil {
		return nil, errors.Wrap(err, "cannot find the directory of the runs")
	}

	if err = own.Dir(r.dir); err != nil {
		return nil, errors.Wrap(err, "cannot use the directory of the runs")
	}

	path := environ.Passed(r.environ)["PATH"]

	script, err := lookPath("ansible-runner", path)
	if err != nil {
		return nil, err
	}

	if r.python, err = sandbox.Interpreter(script); err != nil {
		return nil, err
	}

	if script, err = lookPath("ansible-playbook", path); err != nil {
		return nil, err
	}

	if r.play, err = sandbox.Interpreter(script); err != nil {
		return nil, err
	}

	// Unbuffered: what it writes to both of its streams keeps its order in a pipe.
	r.play = append(r.play, "-u", script)

	return r, nil
}

// lookPath finds a tool in a PATH, in directories that may be relative.
func lookPath(name, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return filepath.Abs(p) //nolint:wrapcheck // It fails without a working directory only.
		}
	}

	return "", errors.Errorf("cannot find %q in PATH", name)
}

// Run carries a run out until all of its processes have ended and its private
// data directory is removed. When the context is done, or the run's timeout is
// over, the processes are ended. The error is about this machine; that a play
// failed is a result. With an error the result only says whether it is certain that
// no task was carried out.
func (r *Runner) Run(ctx context.Context, run Run, w events.Watch) (Result, error) {
	plan, err := r.Prepare(run)
	if err != nil {
		return Result{Phase: common.PhaseFailed, Reason: ReasonInvalidInputs, Message: err.Error(), Untouched: true}, nil
	}

	if r.shipped != nil {
		if err := r.shipped.Repair(); err != nil {
			return Result{Untouched: true}, err
		}
	}

	if err := own.Dir(r.dir); err != nil {
		return Result{Untouched: true}, errors.Wrap(err, "cannot use the directory of the runs")
	}

	lock, err := workdir.Lock(lockFile(plan.Dir))
	if err != nil {
		return Result{Untouched: true}, errors.Wrapf(err, "cannot start run %q", run.ID)
	}

	defer lock.Close() //nolint:errcheck // Nothing was written to it.

	res, err := r.execute(ctx, run, plan, lock, w)
	if rerr := r.remove(filepath.Base(plan.Dir)); rerr != nil {
		// How the run went is true all the same.
		res.Message = strings.TrimPrefix(res.Message+"; "+rerr.Error(), "; ")
	}

	return res, err
}

func (r *Runner) execute(ctx context.Context, run Run, plan Plan, lock *os.File, w events.Watch) (Result, error) {
	if err := plan.write(); err != nil {
		return Result{Untouched: true}, err
	}

	rec := plan.recorder(run, w, run.KeepOutput)

	if run.Timeout > 0 {
		var cancel context.CancelFunc

		ctx, cancel = context.WithTimeoutCause(ctx, run.Timeout, errTimedOut)
		defer cancel()
	}

	ctx, done := workdir.WithLimit(ctx, plan.Dir, r.policy.RunSize)
	defer done()

	code, err := r.start(ctx, plan, lock, rec)
	cause := context.Cause(ctx)

	switch {
	case errors.Is(err, unix.E2BIG):
		// Only the configuration has a say in its length.
		return Result{Phase: common.PhaseFailed, Reason: ReasonInvalidInputs, Message: run.Inputs.Config + ": spec.vars are too long for an environment", Untouched: true}, nil
	case isOutOfMemory(err) && ctx.Err() == nil:
		cause = err
	case err != nil && ctx.Err() == nil:
		if text := rec.Text(); text != "" {
			err = errors.Wrap(err, text)
		}

		return Result{Untouched: errors.Is(err, supervisor.ErrNotStarted)}, err
	}

	if err != nil {
		// Nobody knows how it ended.
		code = -1
	}

	if err := rec.Err(); err != nil {
		return Result{}, err
	}

	e := ending{
		summary: rec.Summary(), code: code, cause: cause, text: named(run.Inputs, rec.Text()), warnings: named(run.Inputs, rec.Warnings()),
		confined: plan.Domain.Confined,
	}

	if ranFull(e) {
		return Result{}, errors.Wrapf(unix.ENOSPC, "the disk of --state-dir is full: %s", e.text)
	}

	res := verdict(run, e)
	res.Output = rec.Tail()
	res.Message = withLeft(res.Message, err)
	res.Untouched = r.untouched(ctx, run, e)

	return res, nil
}

// start ansible-runner, and wait until everything that it has started has ended.
func (r *Runner) start(ctx context.Context, plan Plan, lock *os.File, rec *events.Recorder) (int, error) {
	defer rec.Close()

	return supervisor.Command{
		Self: r.self, Argv: plan.Argv, Env: plan.Env, Dir: plan.Dir, Domain: plan.Domain, Grace: r.grace, Lock: lock,
		Stdout: rec.Stdout(), Stderr: rec.Stderr(),
	}.Run(ctx)
}

// recorder of a run's events. It redacts the secrets of the inputs.
func (p Plan) recorder(run Run, w events.Watch, tail bool) *events.Recorder {
	return events.NewRecorder(events.Options{
		Redactor: redact.New(slices.Concat(run.Inputs.Secrets(), run.Inputs.Vaulted())...),
		Hidden:   []string{filepath.Join(p.Dir, projectDir) + "/", p.Dir + "/"},
		Watch:    w,
		Tail:     tail,
	})
}

// write the private data directory. It must not be there yet: what
// ansible-runner finds of another run, it would use.
func (p Plan) write() error {
	if err := os.Mkdir(p.Dir, modeDir); err != nil {
		return errors.Wrap(err, "cannot make a private data directory")
	}

	for _, d := range p.Dirs {
		if err := os.Mkdir(filepath.Join(p.Dir, d), modeDir); err != nil {
			return errors.Wrap(err, "cannot make a private data directory")
		}
	}

	args := File{Path: argsFile, Data: []byte(commandLine(p.Play)), Mode: modeFile}

	for _, f := range append(slices.Clone(p.Files), args) {
		path := filepath.Join(p.Dir, f.Path)

		if err := os.MkdirAll(filepath.Dir(path), modeDir); err != nil {
			return errors.Wrap(err, "cannot make a private data directory")
		}

		if err := os.WriteFile(path, f.Data, f.Mode); err != nil {
			return errors.Wrap(err, "cannot write into the private data directory")
		}
	}

	return nil
}
