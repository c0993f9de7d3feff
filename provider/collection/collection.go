// Package collection installs the Ansible collection crossplane.ansible, with which content reports to its AnsibleRun.
package collection

import (
	"embed"
	"os"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

//go:embed ansible_collections
var embedded embed.FS

// Install installs the collection in a directory of the collections path. It first removes the directory, which may
// have the collection of another version of the provider. No run may be in progress.
func Install(dir string) error {
	err := workdir.Remove(dir)
	if err == nil {
		err = os.CopyFS(dir, embedded)
	}

	return errors.Wrap(err, "cannot install the provider's collection")
}
