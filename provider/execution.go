package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/provider/collection"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor/reexec"
	"github.com/crossplane-ansible/crossplane-ansible/provider/telemetry"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// killGrace is how long processes of a run or an installation that were told to end may
// take before they are killed.
const killGrace = 3 * time.Second

// execution has the flags for how runs are carried out, with a cluster or without one.
type execution struct {
	confinement

	StateDir       string        `default:"${state_dir}" help:"Directory for installed content and for runs in progress. One process may use it at a time."`
	Timeout        time.Duration `default:"20m"          help:"Timeout of one run, unless the AnsibleRun has its own; 0 means the longest."`
	MaxTimeout     time.Duration `default:"1h"           help:"Longest timeout of a run, whatever the AnsibleRun asks for; 0 means that there is none."`
	MaxInstalls    int           `default:"4"            help:"How many content sets are installed at a time for runs that wait for them, beside those that are resolved again." name:"max-concurrent-installs"`
	ContentMaxSize size          `default:"10Gi"         help:"Space on disk for installed content, such as 500Mi or 10Gi. Above it, content that no run uses goes, the least recently used first; 0 means no limit."`

	// Warm says how a process is kept that has imported Ansible; by default none is.
	Warm runner.Warm `kong:"-"`
	// Cluster whose API server runs may reach; nil for none.
	Cluster runner.Cluster `kong:"-"`
}

// Validate the flags.
func (x execution) Validate() error {
	switch {
	case x.Timeout < 0:
		return errors.New("--timeout must not be negative: 0 means the longest")
	case x.MaxTimeout < 0:
		return errors.New("--max-timeout must not be negative: 0 means that there is none")
	case x.MaxInstalls < 1:
		return errors.New("--max-concurrent-installs must be 1 or more")
	}

	return nil
}

// timeouts of runs.
func (x execution) timeouts() executor.Timeouts {
	return executor.Timeouts{Default: x.Timeout, Longest: x.MaxTimeout}
}

// Directories in the state directory.
const (
	contentDir = "content"
	runsDir    = "runs"
)

// parts of an executor of jobs: where they are carried out, a runner, and a content store. Processes that a former provider left in the state
// directory are waited for, and files removed.
func (x execution) parts(ctx context.Context, c content.Config, log logging.Logger,
) (site, *runner.Runner, *content.Store, error) {
	at, err := x.prepare(ctx, log)
	if err != nil {
		return at, nil, nil, err
	}

	r, err := x.runner(ctx, at, log)
	if err != nil {
		return at, nil, nil, err
	}

	s, err := x.store(ctx, at, c)

	return at, r, s, err
}

// A site is where runs are carried out, and content is installed.
type site struct {
	// lock of the state directory.
	lock   *os.File
	policy sandbox.Policy
}

// prepare the state directory.
func (x execution) prepare(ctx context.Context, log logging.Logger) (site, error) {
	lock, err := x.lock(ctx, log)
	if err != nil {
		return site{}, errors.Wrapf(err, "cannot use the state directory %q", x.StateDir)
	}

	policy, err := x.policy(ctx, x.StateDir, log)

	return site{lock: lock, policy: policy}, err
}

// runner of plays. What a former one left in the state directory is waited for, and removed.
func (x execution) runner(ctx context.Context, at site, log logging.Logger) (*runner.Runner, error) {
	shipped := collection.At(filepath.Join(x.StateDir, "collections"))

	r, err := runner.New(filepath.Join(x.StateDir, runsDir),
		runner.WithGrace(killGrace), runner.WithShipped(shipped), runner.WithPolicy(at.policy), runner.WithWarm(
			x.Warm), runner.WithCluster(x.Cluster))
	if err != nil {
		return nil, err
	}

	waiting := func(name string) { log.Info("Waiting for the end of what a former process started", "directory", name) }
	odd := func(name string, err error) {
		log.Info("Cannot remove what a former process left, trying again later", "directory", name, "error", err)
	}

	if err := r.Sweep(ctx, waiting, odd); err != nil {
		return nil, err
	}

	go r.Tidy(ctx)

	go telemetry.AnswerOSDKMetric(ctx, log)

	// Before, processes of a former provider may have used what its version installed.
	if err := shipped.Repair(); err != nil {
		return nil, err
	}

	return r, nil
}

// store of content, which the flags and the site complete.
func (x execution) store(ctx context.Context, at site, c content.Config) (*content.Store, error) {
	self, err := reexec.Self()
	if err != nil {
		return nil, err
	}

	run := galaxy.Supervised(killGrace, at.lock, self...)

	if c.Tools, err = galaxy.Version(ctx, run, os.Environ()); err != nil {
		return nil, err
	}

	c.Installer = galaxy.Installer{Command: run, Policy: at.policy, Environ: os.Environ()}
	c.MaxSize, c.MaxInstalls = int64(x.ContentMaxSize), x.MaxInstalls

	return content.NewStore(c)
}

// lock the state directory for as long as this process, or one that it started, lives.
func (x execution) lock(ctx context.Context, log logging.Logger) (*os.File, error) {
	if err := os.MkdirAll(x.StateDir, 0o700); err != nil {
		return nil, err
	}

	path := filepath.Join(x.StateDir, "lock")

	f, err := workdir.Lock(path)
	if !errors.Is(err, workdir.ErrLocked) {
		return f, err
	}

	log.Info("Waiting for another process to leave the state directory", "state-dir", x.StateDir)

	return workdir.WaitLock(ctx, path)
}

// stateDir is below the user's cache, or below the directory for temporary
// files where there is none.
func stateDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}

	return filepath.Join(dir, "provider-ansible")
}
