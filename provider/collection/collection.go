// Package collection brings the Ansible collection crossplane.ansible, with
// which content reports to its AnsibleRun.
package collection

import (
	"embed"
	"os"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

//go:embed ansible_collections
var embedded embed.FS

// Install the collection in a directory that belongs on the collections path. All that is there before, such as the
// collection of another version of the provider, is removed: no run may be in progress.
func Install(dir string) error {
	err := workdir.Remove(dir)
	if err == nil {
		err = os.CopyFS(dir, embedded)
	}

	return errors.Wrap(err, "cannot install the provider's collection")
}
