package content

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A DiskFullError says that there is no room for a content set.
type DiskFullError struct {
	// Dir of the store.
	Dir string
	// Err says so.
	Err error
}

// Error says what is full, and what can be done.
func (e *DiskFullError) Error() string {
	return "cannot install content: no space left on the disk of the content store (" + e.Dir + "): " +
		"give the provider a bigger volume for its --state-dir, or keep less of it in use with a smaller --content-max-size"
}

// Unwrap returns the error that says so.
func (e *DiskFullError) Unwrap() error { return e.Err }

// available is what is free on the disk of a directory, in bytes.
func available(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, errors.Wrap(err, "cannot tell how much is free on the disk")
	}

	return int64(s.Bavail) * s.Bsize, nil //nolint:gosec // No disk has that many blocks.
}

// isFull is true for errors of a disk, or a quota, without space.
func isFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// SaysFull is true for the output of a program that found no space.
func SaysFull(output string) bool {
	return strings.Contains(output, "No space left on device") || strings.Contains(output, "Disk quota exceeded")
}
