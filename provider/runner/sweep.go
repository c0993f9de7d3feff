package runner

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// Sweep ends the runs of a former provider and removes their private data directories. It
// must not be called while this provider runs anything. First it waits until the supervisor
// of each run has ended all processes, so that afterwards the same content may run again.
// Waiting is called with the name of each directory that Sweep waits for, and failed with
// each that cannot be removed. The error says that something may still be running.
func (r *Runner) Sweep(ctx context.Context, waiting func(name string), failed func(name string, err error)) error {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return errors.Wrap(err, "cannot look for former runs")
	}

	seen := map[string]bool{}

	for _, e := range entries {
		name := cmp.Or(strings.TrimSuffix(e.Name(), workdir.LockSuffix), e.Name())
		if seen[name] {
			continue
		}

		seen[name] = true

		if err := r.endFormer(ctx, name, waiting); err != nil {
			return errors.Wrapf(err, "cannot tell whether the run of the private data directory %q has ended", name)
		}

		if err := r.remove(name); err != nil {
			failed(name, err)
		}
	}

	// The process from which runs of a former provider started has ended with it. What cannot be removed does no harm.
	if r.Warm.Dir != "" {
		_ = workdir.Remove(r.Warm.Dir)
	}

	return nil
}

// endFormer waits until no process of a former run does anything.
func (r *Runner) endFormer(ctx context.Context, name string, waiting func(name string)) error {
	dir := filepath.Join(r.dir, name)

	lock, err := workdir.Lock(workdir.LockFile(dir))
	if errors.Is(err, workdir.ErrLocked) {
		waiting(name)

		// A supervisor that does not end in time was stopped, or hangs.
		patience, cancel := context.WithTimeout(ctx, supervisor.LeftAfter(r.Grace))
		defer cancel()

		lock, err = workdir.WaitLock(patience, workdir.LockFile(dir))
	}

	if err == nil {
		defer lock.Close() //nolint:errcheck // Nothing was written to it.
	}

	if ctx.Err() != nil {
		return ctx.Err()
	}

	// The supervisor may have been killed, too.
	endLeft(dir)

	return nil
}

// endLeft kills all processes of a run. The environment of each names the home of the run, and
// the arguments of the supervisor name its directory.
func endLeft(dir string) {
	supervisor.EndLeft("="+filepath.Join(dir, homeDir)+"\x00", "\x00"+dir+"\x00", `"`+dir+`"`)
}

// remove a private data directory and its lock file. What cannot be removed is emptied as far
// as possible, since it may hold secrets. The next provider removes it.
func (r *Runner) remove(name string) error {
	dir := filepath.Join(r.dir, name)
	if err := workdir.Remove(dir); err != nil {
		return errors.Wrap(err, "cannot remove a private data directory")
	}

	return errors.Wrap(workdir.Remove(workdir.LockFile(dir)), "cannot remove the lock of a run")
}
