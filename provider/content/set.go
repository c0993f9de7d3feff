// Package content stores the collections, roles and projects that runs require. A Request, which is made from the
// inputs of a run, resolves to a content Set: a directory that is installed once for all equal requests, and never
// changes. Its name is a digest of the inputs of ansible-galaxy. The Store finds sets, installs them with package
// galaxy, resolves requests again that are not pinned, and removes unused sets. Backends of runs call Ensure, the pool
// calls Await, and reconcilers call Resolution and Refresh.
package content

import (
	"cmp"
	"path/filepath"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
)

// A Set is a directory with installed collections and roles, and a project. The zero value is the set of a request that
// requires no content.
type Set struct {
	common.Content

	// Dir is the directory of the set. It must not be changed.
	Dir string
}

// Known returns the set in a status, without a directory; the zero value for nil.
func Known(c *common.Content) Set {
	return Set{Content: *cmp.Or(c, &common.Content{}).DeepCopy()}
}

// CollectionsPath returns the directory of the collections; empty for the zero value.
func (s Set) CollectionsPath() string { return s.path(galaxy.CollectionsDir) }

// RolesPath returns the directory of the roles; empty for the zero value.
func (s Set) RolesPath() string { return s.path(galaxy.RolesDir) }

// ProjectPath returns the directory of the project; empty for a set without a project.
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
