package requirements

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// A Project is a directory of a git repository, or of an archive, in which content runs. Its own requirements are known
// once it is fetched.
type Project struct {
	common.Project

	// Tree is the directory of this machine with the project, which is used as it is now; empty for a repository or an
	// archive.
	Tree string `json:"tree,omitempty"`
}

// URL returns the URL of the repository, without git+, or that of the archive.
func (p *Project) URL() string { return strings.TrimPrefix(p.Src, "git+") }

// IsCommit is true when the version is the hash of a commit, in full or abbreviated.
func (p *Project) IsCommit() bool { return commitHash.MatchString(p.Version) }

func (p *Project) pinned() bool {
	if p.IsArchive() {
		return namesVersion(p.Src)
	}

	return isFixed(p.Version)
}

// WithProject returns the requirements merged with those of a project in a directory. The project's requirements lose
// against others for the same collection or role. Relative paths in them are relative to the directory.
func (f File) WithProject(project File, dir string) (File, error) {
	merged := File{Collections: slices.Clip(f.Collections), Roles: slices.Clip(f.Roles), Project: f.Project}

	for _, c := range project.Collections {
		if slices.ContainsFunc(f.Collections, func(have Collection) bool { return collectionKey(have) == collectionKey(c) }) {
			continue
		}

		c, err := c.below(dir)
		if err != nil {
			return File{}, err
		}

		merged.Collections = append(merged.Collections, c)
	}

	for _, r := range project.Roles {
		if !slices.ContainsFunc(f.Roles, func(have Role) bool { return have.Name == r.Name }) {
			merged.Roles = append(merged.Roles, r)
		}
	}

	return merged, nil
}

// Union returns the requirements of two files of a project. The error names a collection or a role on which they
// differ.
func (f File) Union(other File) (both File, err error) {
	both.Collections, err = unique("collections", slices.Concat(f.Collections, other.Collections), collectionKey)
	if err != nil {
		return File{}, err
	}

	both.Roles, err = unique("roles", slices.Concat(f.Roles, other.Roles), func(r Role) string { return r.Name })

	switch n := max(len(both.Collections), len(both.Roles)); {
	case err != nil:
		return File{}, err
	case n > maxItems:
		return File{}, fmt.Errorf("%d collections or roles are required, more than %d", n, maxItems)
	}

	return both, nil
}

// collectionKey is the same for two requirements of the same collection.
func collectionKey(c Collection) string { return cmp.Or(c.Name, c.Source) }

// isPath is true for a collection that is a file or a directory.
func (c Collection) isPath() bool {
	return slices.Contains([]string{"dir", "subdirs", "file"}, c.kind())
}

// below returns the collection with a path relative to a directory made absolute.
func (c Collection) below(dir string) (Collection, error) {
	if !c.isPath() || filepath.IsAbs(c.location()) {
		return c, nil
	}

	if !filepath.IsLocal(c.location()) {
		return c, errors.Errorf("collection %q is outside of the project", c.location())
	}

	c.Type = c.kind()

	if c.Source != "" {
		c.Source = filepath.Join(dir, c.Source)
	} else {
		c.Name = filepath.Join(dir, c.Name)
	}

	return c, nil
}
