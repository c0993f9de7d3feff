package workdir

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// ErrLocked is the error for a lock that another process holds.
var ErrLocked = errors.New("locked by another process")

// lockInterval is how often WaitLock tries. A blocking flock(2) cannot be
// interrupted.
const lockInterval = 50 * time.Millisecond

// Lock the file at a path, which is made if need be. The lock is held until the
// file is closed in this process and in all that have inherited it, however they
// end. The error is ErrLocked if it is held already.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, errors.Wrap(err, "cannot open the lock file")
	}

	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return f, nil
	}

	_ = f.Close()

	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, ErrLocked
	}

	return nil, errors.Wrap(err, "cannot lock the lock file")
}

// WaitLock locks the file at a path as soon as no other process holds the lock. The
// error is the context's if that is done before.
func WaitLock(ctx context.Context, path string) (*os.File, error) {
	t := time.NewTicker(lockInterval)
	defer t.Stop()

	for {
		f, err := Lock(path)
		if !errors.Is(err, ErrLocked) {
			return f, err
		}

		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.C:
		}
	}
}
