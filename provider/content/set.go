// Package content installs what runs require: requirements become a content set,
// which is named by its digest and installed once by ansible-galaxy.
package content

import (
	"path/filepath"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// Directories of a set.
const (
	collectionsDir = "collections"
	rolesDir       = "roles"
)

// A Set of collections and roles that is installed in a directory. The zero
// value is the set of content that requires nothing.
type Set struct {
	// Digest of what was required.
	Digest string
	// Dir holds the set, read only.
	Dir string
	// Collections and Roles that are installed, with their versions.
	Collections, Roles []common.ContentItem
	// New is true when the call of Ensure that returned the set has installed
	// it, for one caller only.
	New bool
}

// CollectionsPath is where Ansible finds the collections; empty for the zero
// value.
func (s Set) CollectionsPath() string { return s.path(collectionsDir) }

// RolesPath is where Ansible finds the roles; empty for the zero value.
func (s Set) RolesPath() string { return s.path(rolesDir) }

func (s Set) path(name string) string {
	if s.Dir == "" {
		return ""
	}

	return filepath.Join(s.Dir, name)
}
