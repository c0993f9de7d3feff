// Package collection brings the Ansible collection crossplane.ansible, with
// which content reports to its AnsibleRun.
package collection

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

//go:embed ansible_collections
var embedded embed.FS

// Installed is the collection in a directory, read only. Use At, and Repair.
type Installed struct {
	// dir has the collection under its digest, and nothing else.
	dir, digest string

	mu sync.Mutex
}

// At is the collection below a directory that has nothing else, under a name
// that says what is in it. Nothing is there before Repair was called.
func At(dir string) *Installed {
	// It fails without a working directory only.
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}

	// What is embedded can be read.
	digest, _ := digestOf(embedded)

	return &Installed{dir: dir, digest: digest}
}

// Path is what belongs on the collections path.
func (i *Installed) Path() string { return filepath.Join(i.dir, i.digest) }

// Repair makes the directory what it is to be, if it is not: what other
// versions of the provider have installed there is removed, too.
func (i *Installed) Repair() error {
	i.mu.Lock()
	defer i.mu.Unlock()

	if i.whole() {
		return nil
	}

	return errors.Wrap(i.replace(), "cannot install the provider's collection")
}

// whole is true if everything is what it is to be, and there is nothing else.
func (i *Installed) whole() bool {
	all, err := os.ReadDir(i.dir)
	if err != nil || len(all) != 1 || !all[0].IsDir() || all[0].Name() != i.digest {
		return false
	}

	digest, err := digestOf(os.DirFS(i.Path()))

	return err == nil && digest == i.digest
}

// replace all that is in the directory.
func (i *Installed) replace() error {
	if err := workdir.Remove(i.dir); err != nil {
		return err
	}

	if err := os.MkdirAll(i.dir, 0o700); err != nil {
		return err
	}

	part := filepath.Join(i.dir, "part")
	if err := os.CopyFS(part, embedded); err != nil {
		return err
	}

	// Python would write its bytecode beside the source.
	err := fs.WalkDir(embedded, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		info, err := fs.Stat(embedded, name)
		if err != nil {
			return err
		}

		return os.Chmod(filepath.Join(part, name), info.Mode().Perm())
	})
	if err != nil {
		return err
	}

	return os.Rename(part, i.Path())
}

// digestOf the paths, the modes and the contents of what is in a file system.
func digestOf(f fs.FS) (string, error) {
	h := sha256.New()

	err := fs.WalkDir(f, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		info, err := d.Info()
		if err != nil {
			return err
		}

		_, _ = fmt.Fprintf(h, "%q %s\n", name, info.Mode())

		if !info.Mode().IsRegular() {
			return nil
		}

		data, err := fs.ReadFile(f, name)
		_, _ = fmt.Fprintf(h, "%q\n", data)

		return err
	})

	return hex.EncodeToString(h.Sum(nil))[:16], err
}
