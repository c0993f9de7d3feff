package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLocked is returned for a lock that somebody else holds.
var ErrLocked = errors.New("locked by another process")

// lockPoll is how often Wait looks at a lock. A blocking flock cannot be
// interrupted.
const lockPoll = 50 * time.Millisecond

// Lock the file at a path, which is made if need be. The lock is held until
// the file is closed in this process and in the supervisors that it was passed
// to, however they end. The error is ErrLocked if it is held already.
func Lock(path string) (*os.File, error) {
	f, err := openLock(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the lock file: %w", err)
	}

	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return f, nil
	}

	_ = f.Close()

	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, ErrLocked
	}

	return nil, fmt.Errorf("cannot lock the lock file: %w", err)
}

// openLock opens a lock file. One whose mode was changed, or that is a directory, is
// put right first.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)

	switch {
	case errors.Is(err, unix.EACCES):
		err = os.Chmod(path, 0o600)
	case errors.Is(err, unix.EISDIR):
		err = os.RemoveAll(path)
	default:
		return f, err
	}

	if err != nil {
		return nil, err
	}

	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}

// WaitLock locks the file at a path as soon as nobody else holds the lock, or
// returns the context's error.
func WaitLock(ctx context.Context, path string) (*os.File, error) {
	t := time.NewTicker(lockPoll)
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
