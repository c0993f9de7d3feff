package content

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
)

// A BackoffError is the error of an installation that was not tried, because it failed a short time ago.
type BackoffError struct {
	// Until is the time of the next try.
	Until time.Time
	// Err is the error of the last try.
	Err error
}

// Error returns the error of the last try, and the time of the next one.
func (e *BackoffError) Error() string {
	return e.Err.Error() + "; it is tried again at " + e.Until.UTC().Format(time.RFC3339)
}

// Unwrap returns the error of the last try.
func (e *BackoffError) Unwrap() error { return e.Err }

// IsOwn is true for an error of Ensure that the provider or its machine has caused, and not a source or the author of
// the requirements. The context of Ensure must not be done.
func IsOwn(err error) bool {
	return err != nil && !errors.As(err, new(*galaxy.InstallError))
}

// installedError returns an error about installed content as an InstallError, unless the context or the machine has
// caused it.
func installedError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case isFull(err), isBroken(err):
		return err
	}

	return galaxy.NewInstallError("content", err)
}

// isFull is true for errors of a full disk or an exceeded quota.
func isFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// isBroken is true for errors of a machine without enough resources, or with a broken disk.
func isBroken(err error) bool {
	for _, errno := range []unix.Errno{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EIO, unix.EROFS, unix.ESTALE} {
		if errors.Is(err, errno) {
			return true
		}
	}

	return false
}
