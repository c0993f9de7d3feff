package workdir

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Remove a directory with all that is in it, also what is read-only, or a file or a link of that name. It is no error
// when there is none. Nothing may change the directory meanwhile.
func Remove(dir string) error {
	err := os.RemoveAll(dir)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}

	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // It is a directory.
		}

		return nil
	})

	return os.RemoveAll(dir)
}
