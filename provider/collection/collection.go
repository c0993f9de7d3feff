// Package collection brings the Ansible collection crossplane.ansible, with
// which content reports to its AnsibleRun.
package collection

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

//go:embed ansible_collections
var embedded embed.FS

// Install the collection in a directory that belongs on the collections path, read only. All that is there before, such
// as the collection of another version of the provider, is removed: no run may be in progress.
func Install(dir string) error {
	return errors.Wrap(install(dir), "cannot install the provider's collection")
}

func install(dir string) error {
	if err := workdir.Remove(dir); err != nil {
		return err
	}

	if err := os.CopyFS(dir, embedded); err != nil {
		return err
	}

	// Python would write its bytecode beside the source.
	return fs.WalkDir(embedded, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		info, err := fs.Stat(embedded, name)
		if err != nil {
			return err
		}

		return os.Chmod(filepath.Join(dir, name), info.Mode().Perm())
	})
}
