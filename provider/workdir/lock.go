package workdir

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// lockInterval is the time between two attempts of Lock. A blocking flock(2) cannot be interrupted.
const lockInterval = 50 * time.Millisecond

// Lock waits for the lock of the file at a path, which it creates if it is missing. Waits, which may be nil, is called
// once if another process holds the lock. The lock is held until this process, and all that have inherited the file,
// have closed it or ended. The error is the context's if that is done first.
func Lock(ctx context.Context, path string, waits func()) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, errors.Wrap(err, "cannot open the lock file")
	}

	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}

		if !errors.Is(err, unix.EWOULDBLOCK) {
			break
		}

		if waits != nil {
			waits()
			waits = nil
		}

		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-time.After(lockInterval):
		}
	}

	_ = f.Close()

	return nil, errors.Wrap(err, "cannot lock the lock file")
}
