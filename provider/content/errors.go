package content

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
)

// A BackoffError says that an installation was not tried, since the same one has failed not
// long ago.
type BackoffError struct {
	// Until is when it is tried again.
	Until time.Time
	// Err is how it failed.
	Err error
}

// Error says how it failed, and when it is tried again.
func (e *BackoffError) Error() string {
	return e.Err.Error() + "; it is tried again at " + e.Until.UTC().Format(time.RFC3339)
}

// Unwrap returns the error that it failed with.
func (e *BackoffError) Unwrap() error { return e.Err }

// IsOwn is true for an error of Ensure that is the fault of the provider or of its machine: neither a source nor the
// author of the requirements can do anything about it. The context of Ensure must not be done.
func IsOwn(err error) bool {
	return err != nil && !errors.As(err, new(*galaxy.InstallError))
}

// installedError returns an error about what ansible-galaxy has installed as an InstallError,
// unless it is one of the context or of the machine.
func installedError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case isFull(err), isBroken(err):
		return err
	}

	return galaxy.NewInstallError("content", err)
}

// isFull is true for errors of a disk, or a quota, without space.
func isFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// isBroken is true for errors of a machine that has not enough of something, or has a broken disk.
func isBroken(err error) bool {
	for _, errno := range []unix.Errno{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EIO, unix.EROFS, unix.ESTALE} {
		if errors.Is(err, errno) {
			return true
		}
	}

	return false
}
