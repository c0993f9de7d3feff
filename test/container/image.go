package container

import (
	"archive/tar"
	"io"
	"io/fs"
	"os"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Extract the file system of an image into a directory, with its owners if this
// user may give files away.
func Extract(img v1.Image, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // Another user looks into it.
		return errors.Wrap(err, "cannot make directory")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return errors.Wrap(err, "cannot open directory")
	}
	defer root.Close() //nolint:errcheck // It is a directory.

	flat := mutate.Extract(img)
	defer flat.Close() //nolint:errcheck // It was only read.
	for r := tar.NewReader(flat); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = extract(root, h, r)
		}
		if err != nil {
			return errors.Wrap(err, "cannot extract image")
		}
	}
}

func extract(root *os.Root, h *tar.Header, r io.Reader) error {
	name := path.Clean(h.Name)
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	mode := h.FileInfo().Mode()
	switch h.Typeflag {
	case tar.TypeDir:
		if err := root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	case tar.TypeReg:
		if err := write(root, name, r); err != nil {
			return err
		}
	case tar.TypeLink:
		return root.Link(path.Clean(h.Linkname), name)
	case tar.TypeSymlink:
		if err := root.Symlink(h.Linkname, name); err != nil {
			return err
		}
	default:
		return nil // Devices are made by whoever runs it.
	}
	if privileged() {
		if err := root.Lchown(name, h.Uid, h.Gid); err != nil {
			return err
		}
	}
	if h.Typeflag == tar.TypeSymlink {
		return nil
	}
	return root.Chmod(name, mode.Perm()|mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky))
}

func write(root *os.Root, name string, r io.Reader) error {
	f, err := root.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
