package workdir

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// ReadFile reads a file in a directory, which may be a link to another one in it. Anything may
// be in its place: what is no file, or has more bytes than it may have at most, is an error, and
// a pipe is not waited for. The error wraps fs.ErrNotExist when there is nothing.
func ReadFile(dir *os.Root, name string, most int64) ([]byte, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // It was only read.

	info, err := f.Stat()
	if err != nil {
		return nil, err
	}

	if info.Mode().IsRegular() {
		// It may grow meanwhile.
		if text, err := io.ReadAll(io.LimitReader(f, most+1)); err != nil || int64(len(text)) <= most {
			return text, err
		}
	}

	return nil, errors.Errorf("%s is not a file, or too large", name)
}
