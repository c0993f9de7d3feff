package runner

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/own"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

const lockSuffix = ".lock"

// tidyInterval is how often it is tried to remove what could not be removed.
const tidyInterval = time.Minute

// lockFile of a private data directory. It is beside it, and outlives it.
func lockFile(dir string) string { return dir + lockSuffix }

// Sweep removes the private data directories that a former process left. It
// must not be called while this one runs anything. It first waits until the
// supervisor of each has ended all processes of its run, so that afterwards the
// same content may run again; waiting is called with the name of each directory that
// it waits for. Odd is called with what cannot be removed, which Tidy removes later.
// Both may be nil. The error says that something may still be running.
func (r *Runner) Sweep(ctx context.Context, waiting func(name string), odd func(name string, err error)) error {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return errors.Wrap(err, "cannot look for former runs")
	}

	seen := map[string]bool{}

	for _, e := range entries {
		name := cmp.Or(strings.TrimSuffix(e.Name(), lockSuffix), e.Name())
		if seen[name] {
			continue
		}

		seen[name] = true

		if err := r.endFormer(ctx, name, waiting); err != nil {
			return errors.Wrapf(err, "cannot tell whether the run of the private data directory %q has ended", name)
		}

		if err := r.remove(name); err != nil && odd != nil {
			odd(name, err)
		}
	}

	return nil
}

// endFormer returns when nothing is left of a former run that does anything.
func (r *Runner) endFormer(ctx context.Context, name string, waiting func(name string)) error {
	dir := filepath.Join(r.dir, name)

	lock, err := workdir.Lock(lockFile(dir))
	if errors.Is(err, workdir.ErrLocked) {
		if waiting != nil {
			waiting(name)
		}

		lock, err = r.unlocked(ctx, dir)
	}

	if ctx.Err() != nil {
		return ctx.Err()
	}

	if err == nil {
		defer lock.Close() //nolint:errcheck // Nothing was written to it.
	}

	// The supervisor may have been killed, too, and a lock that is odd says nothing.
	return endLeft(dir)
}

// unlocked waits until the supervisor of a former run has ended. One that does not end
// in time, since content has stopped it for example, is killed with all that it has left.
func (r *Runner) unlocked(ctx context.Context, dir string) (*os.File, error) {
	lock, err := r.waitLock(ctx, dir)
	if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return lock, err
	}

	if err := endLeft(dir); err != nil {
		return nil, err
	}

	return r.waitLock(ctx, dir)
}

// waitLock waits for a lock as long as a supervisor takes to end.
func (r *Runner) waitLock(ctx context.Context, dir string) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, supervisor.LeftAfter(r.grace))
	defer cancel()

	return workdir.WaitLock(ctx, lockFile(dir))
}

// endLeft ends all processes of a run. All that it starts has its home, and its
// supervisor is told where it is.
func endLeft(dir string) error {
	return supervisor.EndLeft("="+filepath.Join(dir, homeDir)+"\x00", "\x00"+dir+"\x00", `"`+dir+`"`)
}

// leftovers are the names of private data directories that could not be removed.
type leftovers struct {
	sync.Mutex
	names map[string]bool
}

// remove a private data directory, and its lock file. What cannot be removed is
// removed later, and has no secrets in it as far as files can be emptied.
func (r *Runner) remove(name string) error {
	dir := filepath.Join(r.dir, name)
	err := own.Dir(r.dir)

	if err == nil {
		err = errors.Wrap(workdir.Remove(dir), "cannot remove a private data directory")
	}

	if err == nil {
		err = errors.Wrap(workdir.Remove(lockFile(dir)), "cannot remove the lock of a run")
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

// Tidy removes what could not be removed before, again and again until the context is
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

	// None of them is ever used again.
	for _, name := range names {
		_ = r.remove(name)
	}
}
