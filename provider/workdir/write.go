package workdir

import (
	"io/fs"
	"os"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// WriteFile creates a file of mode 0600 in place of a file, a link or an empty directory of that name. It never writes
// through a link, and removes no directory with files in it.
func WriteFile(path string, data []byte) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}

	_, err = f.Write(data)

	return errors.Join(err, f.Close())
}
