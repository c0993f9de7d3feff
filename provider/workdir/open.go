package workdir

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// openFlags are for directories alone: for a link the error is ENOTDIR or ELOOP.
const openFlags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// batch of names that are read from a directory at a time.
const batch = 1024

// open a directory in another one, to read its names.
func open(parent int, name string) (*os.File, error) {
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}

	return os.NewFile(uintptr(fd), name), nil
}

// makeUsable lets the owner of a directory read it, enter it and write to it. The mode
// is changed by a descriptor: by now the name may be that of a link.
func makeUsable(parent int, name string) error {
	fd, err := unix.Openat(parent, name, unix.O_PATH|openFlags, 0)
	if err != nil {
		return err
	}

	defer unix.Close(fd) //nolint:errcheck // Nothing was written to it.

	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700)
}
