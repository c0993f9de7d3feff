package workdir

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// lockInterval is how often Lock tries. A blocking flock(2) cannot be interrupted.
const lockInterval = 50 * time.Millisecond

// Lock the file at a path, which is made if need be, as soon as no other process holds the lock. Waits is called once
// if one does; it may be nil. The lock is held until the file is closed in this process and in all that have inherited
// it, however they end. The error is the context's if that is done before.
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
