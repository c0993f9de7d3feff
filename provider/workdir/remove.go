package workdir

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Remove a directory and everything in it, also read-only directories, or a file or a link. A missing path is no error.
// No process may change the directory at the same time.
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
