package workdir

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// deepestEmptied is the depth down to which directories are emptied where they are.
// All directories above one are open meanwhile, and a process may have few open files:
// a deeper directory is first moved up.
const deepestEmptied = 64

// Remove a directory with all that is in it, or a file or a link of that name. It is no
// error when there is none. Nothing may change the directory meanwhile. If something in
// it cannot be removed, everything else is, files that cannot be removed are emptied,
// since they may hold secrets, and the error says what is wrong.
func Remove(dir string) error {
	_ = makeUsable(unix.AT_FDCWD, dir)

	top, err := open(unix.AT_FDCWD, dir)

	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return errors.Wrap(os.Remove(dir), "cannot remove what is no directory")
	case err != nil:
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}

	r := remover{top: int(top.Fd())}

	// Directories that were moved up are emptied in the next round.
	for again := true; again; {
		moved := r.moved
		err = r.empty(top, 0)
		again = r.moved > moved
	}

	if err = errors.Join(err, top.Close()); err != nil {
		return &os.PathError{Op: "empty", Path: dir, Err: err}
	}

	return errors.Wrap(os.Remove(dir), "cannot remove an empty directory")
}

// A remover removes what is in one directory.
type remover struct {
	// top is the descriptor of that directory.
	top int
	// moved is the number of directories that were moved up to it.
	moved int
}

// empty a directory at a depth below the top. The error is about the last thing that
// could not be removed.
func (r *remover) empty(d *os.File, depth int) error {
	var failed error

	for {
		// Names may be missed while others are removed, so that reading starts again, unless
		// one could not be removed, which would be read for ever.
		if failed == nil {
			if _, err := d.Seek(0, io.SeekStart); err != nil {
				return err
			}
		}

		names, err := d.Readdirnames(batch)

		switch {
		case errors.Is(err, io.EOF):
			return failed
		case err != nil:
			return err
		}

		for _, name := range names {
			if err := r.remove(int(d.Fd()), name, depth); err != nil {
				failed = err

				wipe(int(d.Fd()), name)
			}
		}
	}
}

// remove a file or a directory from a directory at a depth below the top.
func (r *remover) remove(parent int, name string, depth int) error {
	err := unix.Unlinkat(parent, name, 0)
	if !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM) {
		return err
	}

	if unix.Unlinkat(parent, name, unix.AT_REMOVEDIR) == nil {
		return nil
	}

	if depth == deepestEmptied {
		return r.moveUp(parent, name)
	}

	// A directory of another user may be usable as it is.
	_ = makeUsable(parent, name)

	d, err := open(parent, name)
	if err != nil {
		return err
	}

	if err := errors.Join(r.empty(d, depth+1), d.Close()); err != nil {
		return err
	}

	return unix.Unlinkat(parent, name, unix.AT_REMOVEDIR)
}

// moveUp moves a directory to the top, under a name that is free there.
func (r *remover) moveUp(parent int, name string) error {
	for {
		r.moved++

		err := unix.Renameat2(parent, name, r.top, ".removed-"+strconv.Itoa(r.moved), unix.RENAME_NOREPLACE)
		if !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
}

// wipe a file that cannot be removed, unless it has another name, too.
func wipe(parent int, name string) {
	var s unix.Stat_t
	if err := unix.Fstatat(parent, name, &s, unix.AT_SYMLINK_NOFOLLOW); err != nil || s.Mode&unix.S_IFMT != unix.S_IFREG ||
		s.Nlink > 1 {
		return
	}

	_ = unix.Fchmodat(parent, name, 0o600, 0)

	fd, err := unix.Openat(parent, name, unix.O_WRONLY|unix.O_TRUNC|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd)
	}
}
