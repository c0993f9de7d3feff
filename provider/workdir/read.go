package workdir

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// ReadFile reads a file in a directory, which may be a link to another file in it. An attacker may have replaced the
// file: it is an error if it is no regular file or has more bytes than most, and reading a pipe does not block. The
// error wraps fs.ErrNotExist if there is no file.
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
		// The file may grow meanwhile.
		if text, err := io.ReadAll(io.LimitReader(f, most+1)); err != nil || int64(len(text)) <= most {
			return text, err
		}
	}

	return nil, errors.Errorf("%s is not a file, or too large", name)
}
