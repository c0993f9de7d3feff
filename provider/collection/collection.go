// Package collection brings the Ansible collection crossplane.ansible, with
// which content reports to its AnsibleRun.
package collection

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

const (
	modeFile fs.FileMode = 0o444
	modeDir  fs.FileMode = 0o555
	// modeOpen is the mode of directories while they are written.
	modeOpen fs.FileMode = 0o755
)

//go:embed ansible_collections
var embedded embed.FS

// Installed is the collection in a directory, read only. Use At, and Repair.
type Installed struct {
	dir, name string
	// files, and the directories above them, by their paths in dir.
	files map[string][]byte
	dirs  map[string]bool

	mu sync.Mutex
}

// At is the collection below a directory that has nothing else, under a name
// that says what is in it. Nothing is there before Repair was called.
func At(dir string) *Installed {
	// It fails without a working directory only.
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}

	files := shipped()
	i := &Installed{dir: dir, name: digest(files), files: map[string][]byte{}, dirs: map[string]bool{".": true}}

	for name, data := range files {
		name = path.Join(i.name, name)
		i.files[name] = data

		for above := path.Dir(name); above != "."; above = path.Dir(above) {
			i.dirs[above] = true
		}
	}

	return i
}

// Path is what belongs on the collections path.
func (i *Installed) Path() string { return filepath.Join(i.dir, i.name) }

// Repair makes the directory what it is to be, if it is not: what other
// versions of the provider have installed there is removed, too. Files are
// replaced one by one, so that runs find each of them at any time.
func (i *Installed) Repair() error {
	i.mu.Lock()
	defer i.mu.Unlock()

	return errors.Wrap(i.repair(), "cannot install the provider's collection")
}

func (i *Installed) repair() error {
	if i.whole() {
		return nil
	}

	if err := os.MkdirAll(i.dir, 0o700); err != nil {
		return err
	}

	root, err := os.OpenRoot(i.dir)
	if err != nil {
		return err
	}

	defer root.Close() //nolint:errcheck // It is only a name for a directory.

	if err := i.clear(root); err != nil {
		return err
	}

	for name, data := range i.files {
		if err := write(root, name, data); err != nil {
			return err
		}
	}

	return setModes(root)
}

// whole is true if everything is what it is to be, and there is nothing else.
func (i *Installed) whole() bool {
	found := 0

	err := fs.WalkDir(os.DirFS(i.dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		info, err := d.Info()

		switch {
		case err != nil:
			return err
		case d.IsDir() && i.dirs[p] && info.Mode().Perm() == modeDir:
			return nil
		case i.files[p] == nil || info.Mode() != modeFile:
			return fs.ErrInvalid
		}

		found++

		data, err := os.ReadFile(filepath.Join(i.dir, p))
		if err == nil && !bytes.Equal(data, i.files[p]) {
			err = fs.ErrInvalid
		}

		return err
	})

	return err == nil && found == len(i.files)
}

// clear the directory of whatever does not belong there, and open it for
// writing.
func (i *Installed) clear(root *os.Root) error {
	return fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && i.dirs[p]:
			return root.Chmod(p, modeOpen)
		case d.Type().IsRegular() && i.files[p] != nil:
			return nil
		}

		// A directory that stays beside the collection does no harm.
		err = workdir.Remove(filepath.Join(i.dir, p))
		if !d.IsDir() || err != nil && strings.HasPrefix(p, i.name+"/") {
			return err
		}

		return fs.SkipDir
	})
}

// write a file next to its place, and then put it there.
func write(root *os.Root, name string, data []byte) error {
	if err := root.MkdirAll(path.Dir(name), modeOpen); err != nil {
		return err
	}

	part := name + ".part"

	if err := root.WriteFile(part, data, modeFile); err != nil {
		return err
	}

	return root.Rename(part, name)
}

func setModes(root *os.Root) error {
	return fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return root.Chmod(p, modeDir)
		}

		return root.Chmod(p, modeFile)
	})
}

// shipped are the files of the collection, by their paths.
func shipped() map[string][]byte {
	files := map[string][]byte{}

	// What is embedded can be read.
	_ = fs.WalkDir(embedded, ".", func(p string, d fs.DirEntry, _ error) error {
		if !d.IsDir() {
			files[p], _ = embedded.ReadFile(p)
		}

		return nil
	})

	return files
}

func digest(files map[string][]byte) string {
	h := sha256.New()

	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, _ = fmt.Fprintf(h, "%q %q\n", name, files[name])
	}

	return hex.EncodeToString(h.Sum(nil))[:16]
}
