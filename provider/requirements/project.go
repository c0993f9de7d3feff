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

// A Project is a directory of a git repository, or of an archive, that content is run from. It has requirements of
// its own, which are known when it is there.
type Project struct {
	common.Project

	// Tree is the directory of this machine that the project is, as it is now; empty for a repository or an archive.
	Tree string `json:"tree,omitempty"`
}

// URL is what git calls the URL of the repository, or the URL of the archive.
func (p *Project) URL() string { return strings.TrimPrefix(p.Src, "git+") }

// IsCommit is true when the version is the hash of a commit, in full or abbreviated.
func (p *Project) IsCommit() bool { return commitHash.MatchString(p.Version) }

func (p *Project) pinned() bool {
	if p.IsArchive() {
		return namesVersion(p.Src)
	}

	return isFixed(p.Version)
}

// Under returns the requirements with those of a project in a directory. Of two that bring the same,
// that of the project does not count. Paths of the project's are those in the directory.
func (f File) Under(project File, dir string) (File, error) {
	merged := File{Collections: slices.Clip(f.Collections), Roles: slices.Clip(f.Roles), Project: f.Project}

	for _, c := range project.Collections {
		if slices.ContainsFunc(f.Collections, func(have Collection) bool { return collectionKey(have) == collectionKey(c) }) {
			continue
		}

		c, err := c.in(dir)
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

// Both returns the requirements of two files of a project. The error names a collection or a role on which
// they differ.
func (f File) Both(other File) (both File, err error) {
	both.Collections, err = unique("collections", slices.Concat(f.Collections, other.Collections), collectionKey)
	if err != nil {
		return File{}, err
	}

	both.Roles, err = unique("roles", slices.Concat(f.Roles, other.Roles), func(r Role) string { return r.Name })

	switch n := max(len(both.Collections), len(both.Roles)); {
	case err != nil:
		return File{}, err
	case n > maxItems:
		return File{}, fmt.Errorf("%d collections or roles are required, which are more than %d", n, maxItems)
	}

	return both, nil
}

// collectionKey is the same for collections of which only one can be required.
func collectionKey(c Collection) string { return cmp.Or(c.Name, c.Source) }

// isPath is true for a collection that is a file or a directory.
func (c Collection) isPath() bool {
	return slices.Contains([]string{"dir", "subdirs", "file"}, c.kind())
}

// in returns the collection with its path, if it is a relative one, as one in a directory.
func (c Collection) in(dir string) (Collection, error) {
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
