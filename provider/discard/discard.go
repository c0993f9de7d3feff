// Package discard removes directories of which others have made what they like.
package discard

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

const (
	// deepest directory that is emptied where it is. Those above it are open
	// meanwhile, and there may be more directories in each other than there can be
	// open files: what is deeper is moved up first.
	deepest = 64
	// batch of names that are read at a time.
	batch = 1024
)

// All removes a directory, whatever is in it and however it may be used, or what else
// has its name. Nothing may change it meanwhile. It is no error when there is none.
// What cannot be removed keeps nothing else from that: it is emptied, as far as it can
// be, and the error says what is wrong with it.
func All(dir string) error {
	r := remover{}

	top, err := open(unix.AT_FDCWD, dir)

	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return errors.Wrap(os.Remove(dir), "cannot remove what is no directory")
	case err != nil:
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}

	r.top = int(top.Fd())

	// What was moved up is emptied in the next round.
	for again := true; again; {
		moved := r.moved
		err = r.empty(top, 0)
		again = r.moved > moved
	}

	if err = errors.Join(err, top.Close()); err != nil {
		return &os.PathError{Op: "empty", Path: dir, Err: err}
	}

	return errors.Wrap(os.Remove(dir), "cannot remove what is empty")
}

// A remover of all that is in one directory.
type remover struct {
	// top is the descriptor of that directory.
	top int
	// moved up to it so far.
	moved int
}

// open a directory, which may not be a link, to read it and to write to it.
func open(parent int, name string) (*os.File, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

	fd, err := unix.Openat(parent, name, flags, 0)
	if errors.Is(err, unix.EACCES) {
		// A link would have been another error.
		if err := unix.Fchmodat(parent, name, 0o700, 0); err != nil {
			return nil, err
		}

		fd, err = unix.Openat(parent, name, flags, 0)
	}

	if err != nil {
		return nil, err
	}

	// One that can be read may still not be written to.
	_ = unix.Fchmod(fd, 0o700)

	return os.NewFile(uintptr(fd), name), nil
}

// empty a directory that has so many above it, as far as it is not too deep.
func (r *remover) empty(d *os.File, depth int) error {
	var odd error

	for {
		// What was removed may make a reader miss others. What stays would be read again.
		if odd == nil {
			if _, err := d.Seek(0, io.SeekStart); err != nil {
				return err
			}
		}

		names, err := d.Readdirnames(batch)

		switch {
		case errors.Is(err, io.EOF):
			return odd
		case err != nil:
			return err
		}

		for _, name := range names {
			if err := r.remove(int(d.Fd()), name, depth); err != nil {
				odd = err

				wipe(int(d.Fd()), name)
			}
		}
	}
}

// wipe a file that cannot be removed, unless it has another name.
func wipe(parent int, name string) {
	var s unix.Stat_t
	if err := unix.Fstatat(parent, name, &s, unix.AT_SYMLINK_NOFOLLOW); err != nil || s.Mode&unix.S_IFMT != unix.S_IFREG || s.Nlink > 1 {
		return
	}

	_ = unix.Fchmodat(parent, name, 0o600, 0)

	fd, err := unix.Openat(parent, name, unix.O_WRONLY|unix.O_TRUNC|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd)
	}
}

func (r *remover) remove(parent int, name string, depth int) error {
	err := unix.Unlinkat(parent, name, 0)
	if !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM) {
		return err
	}

	if unix.Unlinkat(parent, name, unix.AT_REMOVEDIR) == nil {
		return nil
	}

	if depth == deepest {
		return r.moveUp(parent, name)
	}

	d, err := open(parent, name)
	if err != nil {
		return err
	}

	if err := errors.Join(r.empty(d, depth+1), d.Close()); err != nil {
		return err
	}

	return unix.Unlinkat(parent, name, unix.AT_REMOVEDIR)
}

// moveUp a directory to the top, under a name that nothing there has.
func (r *remover) moveUp(parent int, name string) error {
	for {
		r.moved++

		err := unix.Renameat2(parent, name, r.top, ".discard-"+strconv.Itoa(r.moved), unix.RENAME_NOREPLACE)
		if !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
}
