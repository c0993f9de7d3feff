package runner

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/warm"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// killGrace is how long the processes of a run may take to end on their own.
const killGrace = 5 * time.Second

// The oldest versions with events that are understood.
const (
	oldestCore   = "2.16"
	oldestRunner = "2.3"
)

// A Runner carries runs out, any number at the same time. Use New.
type Runner struct {
	dir     string
	self    []string
	environ []string
	grace   time.Duration
	// shipped is the directory with the provider's own collections; empty for none.
	shipped string
	policy  sandbox.Policy
	// cluster with the API server that runs may reach; nil for none.
	cluster Cluster
	// name returns the name of the next private data directory.
	name func() string

	// python is the argv of the interpreter that has ansible-runner, and play of
	// ansible-playbook.
	python, play []string
	// warm says how a process is kept that has imported Ansible. The keeper has it; nil for none.
	warm   Warm
	keeper *warm.Keeper
}

// An Option of a Runner.
type Option func(*Runner)

// WithGrace sets how long the processes of a run may take to end after SIGTERM, before
// they are killed; 5 s by default.
func WithGrace(d time.Duration) Option {
	return func(r *Runner) { r.grace = d }
}

// WithShipped puts the provider's own collections, which are in a directory, before all others, so that no content
// can take their place.
func WithShipped(dir string) Option {
	return func(r *Runner) { r.shipped = dir }
}

// Warm says how a process is kept that has imported Ansible, by which runs start several times
// faster.
type Warm struct {
	// Dir is the directory for the process's own, which no other provider may use; empty if none is kept.
	Dir string
	// Odd is told what is odd about it.
	Odd func(error)
	// Started is told of each start: the reason of a cold one, which begins with one of a few words;
	// empty for a warm one. It may be nil.
	Started func(cold string)
}

// WithWarm keeps a process that has imported Ansible.
func WithWarm(w Warm) Option {
	return func(r *Runner) { r.warm = w }
}

// WithPolicy confines and limits runs.
func WithPolicy(p sandbox.Policy) Option {
	return func(r *Runner) { r.policy = p }
}

// New returns a runner that makes private data directories in a directory. The directory is
// made if need be; it must be on a local disk, and no other provider may use it. The error
// says which tool is missing.
func New(dir string, o ...Option) (*Runner, error) {
	// A run that knows the path of another run's file could change its mode, which Landlock
	// does not prevent. Random names cannot be guessed.
	r := &Runner{grace: killGrace, name: rand.Text, environ: os.Environ()}

	for _, fn := range o {
		fn(r)
	}

	var err error
	if r.self, err = supervisor.Self(); err != nil {
		return nil, err
	}

	if r.dir, err = filepath.Abs(dir); err != nil {
		return nil, errors.Wrap(err, "cannot find the directory of the runs")
	}

	if err = os.MkdirAll(r.dir, 0o700); err != nil {
		return nil, errors.Wrap(err, "cannot use the directory of the runs")
	}

	if r.shipped != "" {
		if r.shipped, err = filepath.Abs(r.shipped); err != nil {
			return nil, errors.Wrap(err, "cannot find the provider's own collections")
		}
	}

	path := environ.Passed(r.environ)["PATH"]

	script, err := lookPath("ansible-runner", path)
	if err != nil {
		return nil, errors.Wrapf(err, "ansible-runner %s or newer is needed", oldestRunner)
	}

	if r.python, err = sandbox.Interpreter(script); err != nil {
		return nil, err
	}

	if script, err = lookPath("ansible-playbook", path); err != nil {
		return nil, errors.Wrapf(err, "ansible-core %s or newer is needed", oldestCore)
	}

	if r.play, err = sandbox.Interpreter(script); err != nil {
		return nil, err
	}

	// Unbuffered, so that the lines of its two streams keep their order in one pipe.
	r.play = append(r.play, "-u", "-c", play, script)

	// An interpreter with options is rare.
	if r.warm.Dir != "" && len(r.python) == 1 {
		if r.warm.Dir, err = filepath.Abs(r.warm.Dir); err != nil {
			return nil, errors.Wrap(err, "cannot find the directory of the process that runs start from")
		}

		r.keeper = warm.New(warm.Options{
			Python: r.python[0], Playbook: script, Driver: driver, Make: r.warmDirectory, Log: r.warm.Odd,
			Remove: func(dir string) { _ = workdir.Remove(dir) },
		})
	}

	return r, nil
}

// warmDirectory makes a directory for a process that is kept, and returns it with an environment: that
// of a run without content and inputs.
func (r *Runner) warmDirectory() (string, []string, error) {
	if err := os.MkdirAll(r.warm.Dir, 0o700); err != nil {
		return "", nil, errors.Wrap(err, "cannot use the directory of the process that runs start from")
	}

	dir := filepath.Join(r.warm.Dir, r.name())

	env := r.environment(Spec{}, dir, sandbox.Domain{})

	return dir, env, makeDirectory(dir, "", []file{{Path: inputs.AnsibleConfigFile}})
}

// WarmUp waits until runs start warm, if they are to.
func (r *Runner) WarmUp(ctx context.Context) error {
	if r.keeper == nil {
		return nil
	}

	return r.keeper.Wait(ctx)
}

// Close ends what the runner keeps. Runs go on.
func (r *Runner) Close() {
	if r.keeper != nil {
		r.keeper.Close()
	}
}

// lookPath finds a tool in the directories of a PATH, which may be relative. The path is
// absolute.
func lookPath(name, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return filepath.Abs(p) // It fails without a working directory only.
		}
	}

	return "", errors.Errorf("cannot find %q in PATH", name)
}
