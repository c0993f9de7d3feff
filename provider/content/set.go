// Package content keeps the collections, roles and projects that runs require. A Request, which
// is made from the inputs of a run, becomes a content Set: a directory that is named by
// the digest of all that ansible-galaxy is given for it, is installed once for all equal
// requests, and never changes. The Store finds sets, has package galaxy install them,
// resolves again what is not pinned, and removes sets that no run uses. Backends of
// runs call Ensure, the pool calls Await, and reconcilers call Resolution and Refresh.
package content

import (
	"cmp"
	"path/filepath"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
)

// A Set of collections and roles, and a project, that is installed in a directory. The zero
// value is the set of content that requires nothing.
type Set struct {
	common.Content

	// Dir holds the set, read only.
	Dir string
}

// Known returns the set that a status shows; the zero value when it shows none.
func Known(c *common.Content) Set {
	return Set{Content: *cmp.Or(c, &common.Content{}).DeepCopy()}
}

// CollectionsPath is where Ansible finds the collections; empty for the zero
// value.
func (s Set) CollectionsPath() string { return s.path(galaxy.CollectionsDir) }

// RolesPath is where Ansible finds the roles; empty for the zero value.
func (s Set) RolesPath() string { return s.path(galaxy.RolesDir) }

// ProjectPath is where the project is; empty for a set without one.
func (s Set) ProjectPath() string {
	if s.Project == nil {
		return ""
	}

	return s.path(galaxy.ProjectDir)
}

func (s Set) path(name string) string {
	if s.Dir == "" {
		return ""
	}

	return filepath.Join(s.Dir, name)
}
