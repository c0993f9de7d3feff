// Package machine carries out runs, and installs content, on this machine: in the provider's own Pod, in the Pod of a
// run, or without a cluster.
package machine

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/provider/collection"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// KillGrace is the time between the signals TERM and KILL for processes of a run or an installation.
const KillGrace = 3 * time.Second

const (
	// defaultTimeout of a run of an AnsibleRun without a timeout.
	defaultTimeout = 20 * time.Minute
)

// A Machine has the flags of carrying out runs, with or without a cluster.
type Machine struct {
	confinement

	StateDir   string        `default:"${state_dir}" help:"Directory for installed content and for runs in progress. One process may use it at a time." type:"path"`
	MaxTimeout time.Duration `default:"1h"           help:"Longest timeout of a run, whatever the AnsibleRun asks for, 20m unless it does; 0 means that there is none."`

	// Warm configures the process that has imported Ansible, from which runs are forked. The zero value starts none.
	Warm runner.Warm `kong:"-"`
	// Cluster has the API server for runs; nil for none.
	Cluster runner.Cluster `kong:"-"`
}

// Validate the flags.
func (x Machine) Validate() error {
	if x.MaxTimeout < 0 {
		return errors.New("--max-timeout must not be negative: 0 means that there is none")
	}

	return nil
}

// Timeouts of runs.
func (x Machine) Timeouts() runs.Timeouts {
	return runs.Timeouts{Default: defaultTimeout, Longest: x.MaxTimeout}
}

// ContentDir is the directory of installed content.
func (x Machine) ContentDir() string { return filepath.Join(x.StateDir, "content") }

// RunsDir is the directory of runs in progress.
func (x Machine) RunsDir() string { return filepath.Join(x.StateDir, "runs") }

// AsPod returns the machine for one run in its Pod. The image is the run's own, and so is the ServiceAccount if
// serviceAccount is true.
func (x Machine) AsPod(serviceAccount bool) Machine {
	x.Sharing, x.inPod = 1, true

	if serviceAccount {
		x.serviceAccount = identities(os.DirFS(podSecrets))
	}

	return x
}

// Parts returns the parts of the backend on this machine: the site, a runner, and a content store.
func (x Machine) Parts(ctx context.Context, c content.Config, log logging.Logger,
) (Site, *runner.Runner, *content.Store, error) {
	at, err := x.Prepare(ctx, log)
	if err != nil {
		return at, nil, nil, err
	}

	r, err := x.Runner(at, log)
	if err != nil {
		return at, nil, nil, err
	}

	s, err := x.Store(ctx, at, c)

	return at, r, s, err
}

// A Site is a prepared state directory with the policy of the machine.
type Site struct {
	// lock of the state directory. Supervisors hold it, too, so that once this process has it, no process of a former
	// provider's runs and installations is left.
	lock *os.File
	// Policy of runs and installations.
	Policy sandbox.Policy
}

// Prepare locks the state directory and determines the policy.
func (x Machine) Prepare(ctx context.Context, log logging.Logger) (Site, error) {
	lock, err := x.lock(ctx, log)
	if err != nil {
		return Site{}, errors.Wrapf(err, "cannot use the state directory %q", x.StateDir)
	}

	policy, err := x.policy(ctx, x.StateDir, log)

	return Site{lock: lock, Policy: policy}, err
}

// Runner returns a runner of plays. It removes the files of a former process from the state directory.
func (x Machine) Runner(at Site, log logging.Logger) (*runner.Runner, error) {
	for _, dir := range []string{x.RunsDir(), x.Warm.Dir} {
		if err := workdir.Remove(dir); err != nil {
			log.Info("Cannot remove the files of a former process", "error", err)
		}
	}

	shipped := filepath.Join(x.StateDir, "collections")
	if err := collection.Install(shipped); err != nil {
		return nil, err
	}

	return runner.New(x.RunsDir(), runner.Options{
		Grace: KillGrace, Shipped: shipped, Policy: at.Policy, Lock: at.lock, Warm: x.Warm, Cluster: x.Cluster,
	})
}

// Store returns a content store with a config that it completes from the flags and the site.
func (x Machine) Store(ctx context.Context, at Site, c content.Config) (*content.Store, error) {
	var err error
	if c.Tools, err = galaxy.Version(ctx, os.Environ()); err != nil {
		return nil, err
	}

	c.Installer = galaxy.Installer{
		Run: supervisor.Command.Run, Grace: KillGrace, Lock: at.lock, Policy: at.Policy, Environ: os.Environ(),
	}

	return content.NewStore(c)
}

// lock the state directory for as long as this process, or one that it started, lives.
func (x Machine) lock(ctx context.Context, log logging.Logger) (*os.File, error) {
	if err := os.MkdirAll(x.StateDir, 0o700); err != nil {
		return nil, err
	}

	return workdir.Lock(ctx, filepath.Join(x.StateDir, "lock"), func() {
		log.Info("Waiting for another process to leave the state directory", "state-dir", x.StateDir)
	})
}

// StateDir returns the default state directory, below the user's cache or else below the directory for temporary files.
func StateDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}

	return filepath.Join(dir, "provider-ansible")
}
