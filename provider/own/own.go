// Package own keeps the provider's own directories what they are to be. Whoever is the
// same user may change the mode of a directory whose path is known, and Landlock does
// not keep anybody from it.
package own

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// mode of directories that are nobody else's.
const mode fs.FileMode = 0o700

var errNoDirectory = errors.New("it is no directory")

// Dir is a directory afterwards that only its owner may use: the user of this process,
// as far as that may be changed. What has its name and is no directory goes.
func Dir(path string) error {
	// It need not be the provider's. Root passes what its runs may not.
	_ = Shared(filepath.Dir(path))

	info, err := find(path)
	if errors.Is(err, errNoDirectory) {
		if err := os.Remove(path); err != nil {
			return errors.Wrap(err, "cannot remove what is no directory")
		}

		info, err = find(path)
	}

	if err != nil {
		return err
	}

	// Others may have it when they need no rights: only root may give it away.
	if os.Geteuid() == 0 {
		if err := os.Lchown(path, 0, -1); err != nil {
			return errors.Wrap(err, "cannot take over a directory")
		}
	}

	if info.Mode().Perm() != mode {
		if err := os.Chmod(path, mode); err != nil {
			return errors.Wrap(err, "cannot make a directory usable")
		}
	}

	return usable(path)
}

// Shared is a directory afterwards that this process may use, and maybe others: it may
// be somebody else's. A file in its place stays, and is an error.
func Shared(path string) error {
	info, err := find(path)
	if err != nil {
		return err
	}

	if info.Mode().Perm()&mode != mode {
		if err := os.Chmod(path, info.Mode().Perm()|mode); err != nil {
			return errors.Wrap(err, "cannot make a directory usable")
		}
	}

	return usable(path)
}

// find a directory, which is made if need be.
func find(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)

	// A directory above may not be passed.
	if parent := filepath.Dir(path); errors.Is(err, fs.ErrPermission) && parent != path {
		if err := Shared(parent); err != nil {
			return nil, err
		}

		info, err = os.Stat(path)
	}

	switch {
	case err == nil && !info.IsDir():
		return nil, errors.Wrapf(errNoDirectory, "%s cannot be used", path)
	case !errors.Is(err, fs.ErrNotExist):
		return info, err
	}

	if err := os.MkdirAll(path, mode); err != nil {
		return nil, errors.Wrap(err, "cannot make a directory")
	}

	return os.Stat(path)
}

func usable(path string) error {
	err := unix.Access(path, unix.R_OK|unix.W_OK|unix.X_OK)

	return errors.Wrapf(err, "%s cannot be used, since it is another user's or read-only", path)
}

// File is a new file afterwards, whatever had its name, that only the user of this
// process may use. It is never written through a link.
func File(path string, data []byte) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}

	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}

	_, err = f.Write(data)

	return errors.Join(err, f.Close())
}
