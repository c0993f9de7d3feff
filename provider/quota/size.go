package quota

import (
	"context"
	"io"
	"math"
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

// A Usage is what a directory takes, with all that is below it.
type Usage struct {
	// Size on disk, in bytes.
	Size int64
	// Holes are what files are said to have beyond what they take on disk, in bytes:
	// what is sparse, and what has several names and is read by each.
	Holes int64
	// Entries are all files and directories.
	Entries int64
}

// Limits of a usage. None of them is exceeded by 0, which means that there is none.
type Limits Usage

// Exceeded is true for a usage above one of its limits.
func (l Limits) Exceeded(u Usage) bool {
	over := func(n, limit int64) bool { return limit > 0 && n > limit }

	return over(u.Size, l.Size) || over(u.Holes, l.Holes) || over(u.Entries, l.Entries)
}

// Measure a directory with all that is below it, until a limit is exceeded. What
// somebody moves meanwhile may be counted twice or not at all, but nothing outside of
// the directory is looked at or changed. No file is opened. Directories that their
// owner cannot read are made readable. The error is about what cannot be counted, or
// that of the context.
func Measure(ctx context.Context, dir string, l Limits) (Usage, error) {
	c := count{limits: l}
	err := c.entry(ctx, unix.AT_FDCWD, dir, 0)

	return c.usage, err
}

// A count of what is on disk.
type count struct {
	usage  Usage
	limits Limits
}

// entry of a directory.
func (c *count) entry(ctx context.Context, parent int, name string, depth int) error {
	var s unix.Stat_t
	if err := unix.Fstatat(parent, name, &s, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return unlessGone(err)
	}

	size := s.Blocks * 512 // stat(2): whatever the blocks of the disk are.
	c.usage.Entries++

	if s.Mode&unix.S_IFMT != unix.S_IFDIR {
		// All of its names are counted.
		size = max(size/max(int64(s.Nlink), 1), block) //nolint:gosec // No file has that many names.
		c.usage.Size += size

		if s.Mode&unix.S_IFMT == unix.S_IFREG {
			c.usage.Holes = sum(c.usage.Holes, s.Size-size)
		}

		return nil
	}

	c.usage.Size += max(size, block)

	if c.limits.Exceeded(c.usage) {
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

// sum with what is not negative. A few files are enough for more than there are
// numbers.
func sum(n, more int64) int64 {
	if more > math.MaxInt64-n {
		return math.MaxInt64
	}

	return n + max(more, 0)
}

// dir counts what is in a directory.
func (c *count) dir(ctx context.Context, f *os.File, depth int) error {
	for !c.limits.Exceeded(c.usage) {
		if err := ctx.Err(); err != nil {
			return err
		}

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
