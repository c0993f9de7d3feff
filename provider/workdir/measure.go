package workdir

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

const (
	// entrySize is the least size that each file and directory counts with, in bytes, so
	// that empty files count, too.
	entrySize = 4 << 10
	// readable is the mode that a directory needs for its owner to measure it.
	readable = 0o500
	// batch of names that are read from a directory at a time.
	batch = 1024
)

// A Usage is what a directory takes, with all that is below it.
type Usage struct {
	// Size on disk, in bytes.
	Size int64
	// Holes is how much longer files are than what they take on disk, in bytes: sparse
	// files, and files with several names, which are read once by each name.
	Holes int64
	// Entries is the number of files and directories.
	Entries int64
}

// Limits of a usage. 0 means that there is no limit.
type Limits Usage

// Exceeded is true for a usage above one of the limits.
func (l Limits) Exceeded(u Usage) bool {
	over := func(n, limit int64) bool { return limit > 0 && n > limit }

	return over(u.Size, l.Size) || over(u.Holes, l.Holes) || over(u.Entries, l.Entries)
}

// Measure a directory with all that is below it, until a limit is exceeded. The directory may change meanwhile: what is
// moved is counted twice or not at all. No file is opened, and no link followed. Directories that their owner cannot
// read are made readable. The error is about what cannot be counted, or the context's.
func Measure(ctx context.Context, dir string, l Limits) (Usage, error) {
	m := meter{limits: l}
	err := m.entry(ctx, dir)

	return m.usage, err
}

// A meter adds up what is on disk.
type meter struct {
	usage  Usage
	limits Limits
}

// entry adds a file, or a directory with all that is below it.
func (m *meter) entry(ctx context.Context, path string) error {
	var s unix.Stat_t
	if err := unix.Lstat(path, &s); err != nil {
		return unlessGone(err)
	}

	size := s.Blocks * 512 // stat(2): the unit of st_blocks, on every disk.
	m.usage.Entries++

	if s.Mode&unix.S_IFMT != unix.S_IFDIR {
		// Each name of a file with several names counts its share.
		size = max(size/max(int64(s.Nlink), 1), entrySize) //nolint:gosec // No file has that many names.
		m.usage.Size += size

		if s.Mode&unix.S_IFMT == unix.S_IFREG {
			m.usage.Holes = sum(m.usage.Holes, s.Size-size)
		}

		return nil
	}

	m.usage.Size += max(size, entrySize)

	f, err := open(path, s.Mode)
	if err != nil {
		return unlessGone(err)
	}

	defer f.Close() //nolint:errcheck // It was only read.

	return m.dir(ctx, f)
}

// open a directory that was seen with a mode. What has its name by now may be a pipe, which would not open, or a link.
func open(path string, mode uint32) (*os.File, error) {
	const only = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

	if mode&readable != readable {
		if fd, err := unix.Open(path, unix.O_PATH|only, 0); err == nil {
			// A descriptor of a path takes no mode. The link to it does, and leads nowhere else.
			_ = os.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), 0o700) //nolint:gosec // It is a directory.
			_ = unix.Close(fd)
		}
	}

	fd, err := unix.Open(path, unix.O_RDONLY|only, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}

	return os.NewFile(uintptr(fd), path), nil
}

// dir adds what is in a directory.
func (m *meter) dir(ctx context.Context, f *os.File) error {
	for !m.limits.Exceeded(m.usage) {
		if err := ctx.Err(); err != nil {
			return err
		}

		names, err := f.Readdirnames(batch)

		for _, name := range names {
			if err := m.entry(ctx, filepath.Join(f.Name(), name)); err != nil {
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

// sum of n and what more is above 0, or the highest number: a few sparse files can have
// lengths that no number can hold together.
func sum(n, more int64) int64 {
	if more > math.MaxInt64-n {
		return math.MaxInt64
	}

	return n + max(more, 0)
}

// unlessGone is nil for an error that says that a file or a directory is gone, or that
// something else has its name by now.
func unlessGone(err error) error {
	for _, e := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP} {
		if errors.Is(err, e) {
			return nil
		}
	}

	return err
}
