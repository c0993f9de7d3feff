package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/discard"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
)

const lockSuffix = ".lock"

// lockFile of a private data directory. It is beside it, and outlives it.
func lockFile(dir string) string { return dir + lockSuffix }

// Sweep removes the private data directories that a former process left. It
// must not be called while this one runs anything. It first waits until the
// supervisor of each has ended all processes of its run, so that afterwards the
// same content may run again; waiting, which may be nil, is called with the id
// of each run that it waits for.
func (r *Runner) Sweep(ctx context.Context, waiting func(id string)) error {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return errors.Wrap(err, "cannot look for former runs")
	}

	seen := map[string]bool{}

	for _, e := range entries {
		id := strings.TrimSuffix(e.Name(), lockSuffix)
		if seen[id] {
			continue
		}

		seen[id] = true

		if err := r.sweep(ctx, id, waiting); err != nil {
			return errors.Wrapf(err, "cannot remove what run %q left", id)
		}
	}

	return nil
}

func (r *Runner) sweep(ctx context.Context, id string, waiting func(id string)) error {
	dir := filepath.Join(r.dir, id)

	lock, err := supervisor.Lock(lockFile(dir))
	if errors.Is(err, supervisor.ErrLocked) {
		if waiting != nil {
			waiting(id)
		}

		lock, err = supervisor.WaitLock(ctx, lockFile(dir))
	}

	if err != nil {
		return err
	}

	defer lock.Close() //nolint:errcheck // Nothing was written to it.

	// The supervisor may have been killed, too. All that a run starts has its home.
	supervisor.EndLeft("=" + filepath.Join(dir, homeDir) + "\x00")

	return remove(dir)
}

// remove a private data directory, then its lock file. Content may have made
// directories that cannot be written to.
func remove(dir string) error {
	if err := discard.All(dir); err != nil {
		return errors.Wrap(err, "cannot remove a private data directory")
	}

	return errors.Wrap(os.Remove(lockFile(dir)), "cannot remove the lock of a run")
}
