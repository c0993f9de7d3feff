// Package content installs what runs require: requirements become a content set,
// which is named by its digest and installed once by ansible-galaxy.
package content

import (
	"path/filepath"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
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
	// Resolved is when what was required was last known to resolve to the set; the
	// zero time when that is not known.
	Resolved time.Time
	// Proof that a store has said all that, and of what. Without it nobody is believed.
	Proof string
}

// Known is what is known of a set from a status; the zero value when there is nothing.
func Known(c *common.Content) Set {
	if c == nil {
		return Set{}
	}

	s := Set{Digest: c.Digest, Collections: slices.Clone(c.Collections), Roles: slices.Clone(c.Roles), Proof: c.Proof}
	if c.Resolved != nil {
		s.Resolved = c.Resolved.Time
	}

	return s
}

// Status says what is known of the set.
func (s Set) Status() *common.Content {
	c := &common.Content{Digest: s.Digest, Collections: s.Collections, Roles: s.Roles, Proof: s.Proof}
	if !s.Resolved.IsZero() {
		c.Resolved = &metav1.Time{Time: s.Resolved}
	}

	return c
}

// CollectionsPath is where Ansible finds the collections; empty for the zero
// value.
func (s Set) CollectionsPath() string { return s.path(galaxy.CollectionsDir) }

// RolesPath is where Ansible finds the roles; empty for the zero value.
func (s Set) RolesPath() string { return s.path(galaxy.RolesDir) }

func (s Set) path(name string) string {
	if s.Dir == "" {
		return ""
	}

	return filepath.Join(s.Dir, name)
}
