package quota

import (
	"context"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

const (
	// block is what each name counts at least, so that files without any content
	// are not for free.
	block = 4 << 10
	// batch of names that are read at a time.
	batch = 1024
	// deepest directory that is looked into, of those above it that are open
	// meanwhile.
	deepest = 512
)

var errTooDeep = errors.New("there are too many directories in each other")

// Size on disk of a directory with all that is below it, in bytes; what is above a
// limit is not counted. What somebody moves meanwhile may be counted twice or not at
// all, but nothing outside of the directory is looked at or changed. Directories
// that their owner cannot read are made readable. The error is about what cannot be
// counted.
func Size(ctx context.Context, dir string, limit int64) (int64, error) {
	c := count{limit: limit}
	err := c.entry(ctx, unix.AT_FDCWD, dir, 0)

	return c.size, err
}

// A count of what is on disk.
type count struct {
	size, limit int64
}

// entry of a directory.
func (c *count) entry(ctx context.Context, parent int, name string, depth int) error {
	var s unix.Stat_t
	if err := unix.Fstatat(parent, name, &s, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return unlessGone(err)
	}

	size := s.Blocks * 512 // stat(2): whatever the blocks of the disk are.

	if s.Mode&unix.S_IFMT != unix.S_IFDIR {
		// All of its names are counted.
		c.size += max(size/max(int64(s.Nlink), 1), block) //nolint:gosec // No file has that many names.

		return nil
	}

	c.size += max(size, block)

	if c.size > c.limit {
		return nil
	}

	if depth > deepest {
		return errTooDeep
	}

	f, err := open(parent, name, s.Mode)
	if err != nil {
		return unlessGone(err)
	}

	defer f.Close() //nolint:errcheck // It was only read.

	return c.dir(ctx, f, depth)
}

// dir counts what is in a directory.
func (c *count) dir(ctx context.Context, f *os.File, depth int) error {
	for c.size <= c.limit && ctx.Err() == nil {
		names, err := f.Readdirnames(batch)

		for _, name := range names {
			if err := c.entry(ctx, int(f.Fd()), name, depth+1); err != nil {
				return err
			}
		}

		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return unlessGone(err)
		}
	}

	return nil
}

// open a directory, which must be one. One that its owner may not read is made
// readable first, by a descriptor: its name may be that of something else by now.
func open(parent int, name string, mode uint32) (*os.File, error) {
	const (
		flags  = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
		usable = 0o500
	)

	if mode&usable != usable {
		fd, err := unix.Openat(parent, name, unix.O_PATH|flags, 0)
		if err != nil {
			return nil, err
		}

		err = unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700)
		_ = unix.Close(fd)

		if err != nil {
			return nil, err
		}
	}

	fd, err := unix.Openat(parent, name, unix.O_RDONLY|flags, 0)
	if err != nil {
		return nil, err
	}

	return os.NewFile(uintptr(fd), name), nil
}

// unlessGone is nil for an error that says that something is not there, or no
// directory, any more.
func unlessGone(err error) error {
	for _, e := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP} {
		if errors.Is(err, e) {
			return nil
		}
	}

	return err
}
