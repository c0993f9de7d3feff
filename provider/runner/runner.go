package runner

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/warm"
)

// The oldest versions with events that are understood.
const (
	oldestCore   = "2.16"
	oldestRunner = "2.3"
)

// A Runner carries runs out, any number at the same time. Use New.
type Runner struct {
	Options

	dir     string
	environ []string
	// name returns the name of the next private data directory.
	name func() string

	// python is the argv of the interpreter that has ansible-runner, and play of
	// ansible-playbook.
	python, play []string
	// keeper has the process that is kept; nil for none.
	keeper *warm.Keeper
}

// Options of a Runner.
type Options struct {
	// Grace is how long the processes of a run may take to end after SIGTERM, before they are killed.
	Grace time.Duration
	// Shipped is the directory with the provider's own collections, which come before all others, so that no content
	// can take their place.
	Shipped string
	// Policy confines and limits runs.
	Policy sandbox.Policy
	// Lock that is held until no process of a run is left, whatever becomes of this one.
	Lock *os.File
	// Warm says how a process is kept that has imported Ansible.
	Warm Warm
	// Cluster with the API server that runs may reach, if their inputs say so; nil for none.
	Cluster Cluster
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

// New returns a runner that makes private data directories in a directory. The directory is
// made if need be; it must be on a local disk, and no other provider may use it. Its path and those of the options are
// absolute. The error says which tool is missing.
func New(dir string, o Options) (*Runner, error) {
	// A run that knows the path of another run's file could change its mode, which Landlock
	// does not prevent. Random names cannot be guessed.
	r := &Runner{Options: o, dir: dir, name: rand.Text, environ: os.Environ()}

	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return nil, errors.Wrap(err, "cannot use the directory of the runs")
	}

	script, err := environ.LookPath(r.environ, "ansible-runner")
	if err != nil {
		return nil, errors.Wrapf(err, "ansible-runner %s or newer is needed", oldestRunner)
	}

	if r.python, err = sandbox.Interpreter(script); err != nil {
		return nil, err
	}

	if script, err = environ.LookPath(r.environ, "ansible-playbook"); err != nil {
		return nil, errors.Wrapf(err, "ansible-core %s or newer is needed", oldestCore)
	}

	if r.play, err = sandbox.Interpreter(script); err != nil {
		return nil, err
	}

	// Unbuffered, so that the lines of its two streams keep their order in one pipe.
	r.play = append(r.play, "-u", "-c", play, script)

	// An interpreter with options is rare.
	if r.Warm.Dir != "" && len(r.python) == 1 {
		r.keeper = warm.New(warm.Options{
			Python: r.python[0], Playbook: script, Driver: driver, Make: r.warmDirectory, Log: r.Warm.Odd,
		})
	}

	return r, nil
}

// warmDirectory makes a directory for a process that is kept, and returns it with an environment: that
// of a run without content and inputs.
func (r *Runner) warmDirectory() (string, []string, error) {
	if err := os.MkdirAll(r.Warm.Dir, 0o700); err != nil {
		return "", nil, errors.Wrap(err, "cannot use the directory of the process that runs start from")
	}

	dir := filepath.Join(r.Warm.Dir, r.name())

	env := r.environment(Spec{}, dir, sandbox.Domain{})

	return dir, env, makeDirectory(dir, "", []file{{Path: inputs.AnsibleConfigFile}})
}

// Close ends what the runner keeps. Runs go on.
func (r *Runner) Close() {
	if r.keeper != nil {
		r.keeper.Close()
	}
}
