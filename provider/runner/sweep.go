package runner

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// tidyInterval is how often it is tried to remove what could not be removed.
const tidyInterval = time.Minute

// Sweep ends the runs of a former provider and removes their private data directories. It
// must not be called while this provider runs anything. First it waits until the supervisor
// of each run has ended all processes, so that afterwards the same content may run again.
// Waiting is called with the name of each directory that Sweep waits for, and failed with
// each that cannot be removed, which Tidy removes later. The error says that something may still be running.
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

	return r.sweepWarm()
}

// sweepWarm ends the process from which runs of a former provider started, and removes what it has
// left.
func (r *Runner) sweepWarm() error {
	if r.warm.Dir == "" {
		return nil
	}

	entries, err := os.ReadDir(r.warm.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.Wrap(err, "cannot look for what runs have started from")
	}

	for _, e := range entries {
		dir := filepath.Join(r.warm.Dir, e.Name())

		endLeft(dir)

		// What cannot be removed does no harm.
		_ = workdir.Remove(dir)
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
		patience, cancel := context.WithTimeout(ctx, supervisor.LeftAfter(r.grace))
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
// as possible, since it may hold secrets, and Tidy removes it later.
func (r *Runner) remove(name string) error {
	dir := filepath.Join(r.dir, name)
	err := os.MkdirAll(r.dir, 0o700)

	if err == nil {
		err = errors.Wrap(workdir.Remove(dir), "cannot remove a private data directory")
	}

	if err == nil {
		err = errors.Wrap(workdir.Remove(workdir.LockFile(dir)), "cannot remove the lock of a run")
	}

	r.left.Lock()
	defer r.left.Unlock()

	if err == nil {
		delete(r.left.names, name)

		return nil
	}

	if r.left.names == nil {
		r.left.names = map[string]bool{}
	}

	r.left.names[name] = true

	return err
}

// Left is the number of private data directories that could not be removed yet.
func (r *Runner) Left() int {
	r.left.Lock()
	defer r.left.Unlock()

	return len(r.left.names)
}

// Tidy tries to remove what could not be removed before, again and again until the context is
// done.
func (r *Runner) Tidy(ctx context.Context) {
	t := time.NewTicker(tidyInterval)
	defer t.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			r.tidy()
		}
	}
}

func (r *Runner) tidy() {
	r.left.Lock()
	names := slices.Collect(maps.Keys(r.left.names))
	r.left.Unlock()

	// Names are random: none is used by another run.
	for _, name := range names {
		_ = r.remove(name)
	}
}
