package workdir

import (
	"context"
	"io"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

const (
	// entrySize is the least size that a file or a directory counts, in bytes, so that empty files count, too.
	entrySize = 4 << 10
	// readable is the mode that a directory needs for its owner to measure it.
	readable = 0o500
	// batch is how many names are read from a directory at a time.
	batch = 1024
)

// A Usage is the size of a directory with everything below it.
type Usage struct {
	// Size on disk, in bytes.
	Size int64
	// Holes is by how much the lengths of files exceed their size on disk, in bytes. Sparse files have holes, and so have
	// hard links, which are read once by each name.
	Holes int64
	// Entries is the number of files and directories.
	Entries int64
}

// Limits of a usage; 0 means no limit.
type Limits Usage

// Exceeded is true for a usage above one of the limits.
func (l Limits) Exceeded(u Usage) bool {
	over := func(n, limit int64) bool { return limit > 0 && n > limit }

	return over(u.Size, l.Size) || over(u.Holes, l.Holes) || over(u.Entries, l.Entries)
}

// Measure returns the usage of a directory, and stops once a limit is exceeded. The directory may change meanwhile:
// files that move may count twice or not at all. No file is opened, and no link followed. Directories that their owner
// cannot read are made readable. The error is about a path that cannot be measured, or the context's.
func Measure(ctx context.Context, dir string, l Limits) (Usage, error) {
	u := Usage{}
	err := u.add(ctx, dir, l)

	return u, err
}

// add a file, or a directory with everything below it.
func (u *Usage) add(ctx context.Context, path string, l Limits) error {
	var s unix.Stat_t
	if err := unix.Lstat(path, &s); err != nil {
		return unlessGone(err)
	}

	size := s.Blocks * 512 // stat(2): the unit of st_blocks, on every disk.
	u.Entries++

	if s.Mode&unix.S_IFMT != unix.S_IFDIR {
		// Each hard link counts its share.
		size = max(size/max(int64(s.Nlink), 1), entrySize) //nolint:gosec // No file has that many names.
		u.Size += size

		// The lengths of a few sparse files can exceed an int64.
		if s.Mode&unix.S_IFMT == unix.S_IFREG {
			u.Holes = int64(min(uint64(u.Holes)+uint64(max(s.Size-size, 0)), math.MaxInt64)) //nolint:gosec // None is below 0.
		}

		return nil
	}

	u.Size += max(size, entrySize)

	if s.Mode&readable != readable {
		_ = os.Chmod(path, 0o700) //nolint:gosec // It is a directory.
	}

	// The directory may have been replaced meanwhile by a pipe, on which an open would block, or by a link.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return unlessGone(err)
	}
	defer f.Close() //nolint:errcheck // It was only read.

	for !l.Exceeded(*u) {
		if err := ctx.Err(); err != nil {
			return err
		}

		names, err := f.Readdirnames(batch)

		for _, name := range names {
			if err := u.add(ctx, filepath.Join(path, name), l); err != nil {
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

// unlessGone returns nil for an error which says that a file or a directory is gone, or was replaced.
func unlessGone(err error) error {
	for _, e := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP} {
		if errors.Is(err, e) {
			return nil
		}
	}

	return err
}
