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

// The oldest supported versions.
const (
	oldestCore   = "2.16"
	oldestRunner = "2.3"
)

// A Runner executes runs, any number at the same time. New makes one.
type Runner struct {
	Options

	dir     string
	environ []string
	// name returns the name of the next private data directory.
	name func() string

	// python is the argv of the interpreter of ansible-runner, and play is the argv of ansible-playbook.
	python, play []string
	// keeper keeps the warm process; nil for none.
	keeper *warm.Keeper
}

// Options of a Runner.
type Options struct {
	// Grace is the time between SIGTERM and SIGKILL when the processes of a run are ended.
	Grace time.Duration
	// Shipped is the directory with the provider's own collections. It is the first in the search path, so that content
	// cannot replace them.
	Shipped string
	// Policy confines and limits runs.
	Policy sandbox.Policy
	// Lock is a locked file that every supervisor inherits: the lock is held until no process of a run is left, also
	// after the death of this process.
	Lock *os.File
	// Warm configures warm starts.
	Warm Warm
	// Cluster gives runs with spec.kubernetes access to the API server; nil without a cluster.
	Cluster Cluster
}

// Warm configures warm starts: a process that has imported Ansible is kept, and runs fork from it.
type Warm struct {
	// Dir is the directory for the directories of processes. No other provider may use it. If it is empty, no process is
	// kept.
	Dir string
	// Log reports why runs start cold.
	Log func(error)
	// Started is called with the reason of each cold start, which begins with one of a few words, and with an empty
	// string for each warm start. It may be nil.
	Started func(cold string)
}

// New returns a runner that makes private data directories in dir. It makes dir if needed. The directory must be on a
// local disk, and no other provider may use it. This path and the paths of the options are absolute. The error names a
// missing tool.
func New(dir string, o Options) (*Runner, error) {
	// A run that knows the path of a file of another run could change the mode of the file, which Landlock does not
	// prevent. Random names cannot be guessed.
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

	// Unbuffered (-u), so that the lines of its two streams keep their order in one pipe.
	r.play = append(r.play, "-u", "-c", play, script)

	// The warm process does not support an interpreter with options, which is rare.
	if r.Warm.Dir != "" && len(r.python) == 1 {
		r.keeper = warm.New(warm.Options{
			Python: r.python[0], Playbook: script, Driver: driver, Make: r.warmDirectory, Log: r.Warm.Log,
		})
	}

	return r, nil
}

// warmDirectory makes a directory for a warm process. It returns the directory, and the environment of a run without
// content and inputs.
func (r *Runner) warmDirectory() (string, []string, error) {
	if err := os.MkdirAll(r.Warm.Dir, 0o700); err != nil {
		return "", nil, errors.Wrap(err, "cannot use the directory of the process that runs start from")
	}

	dir := filepath.Join(r.Warm.Dir, r.name())

	env := r.environment(Spec{}, dir, sandbox.Domain{})

	return dir, env, makeDirectory(dir, "", []file{{Path: inputs.AnsibleConfigFile}})
}

// Close ends the warm process. Runs in progress go on.
func (r *Runner) Close() {
	if r.keeper != nil {
		r.keeper.Close()
	}
}
