// Package requirements reads the collections and roles that a configuration and a run require, in the format of a
// requirements.yml. It normalizes them as ansible-galaxy understands them. It tells the source of each requirement, and
// whether its content may change without a new version. Package galaxy installs the requirements.
package requirements

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// A File has the collections and roles of a requirements.yml, in the order in which ansible-galaxy installs them. Its
// JSON is a valid requirements.yml.
type File struct {
	Collections []Collection `json:"collections,omitempty"`
	Roles       []Role       `json:"roles,omitempty"`
	// Project in which content runs; nil for none. A requirements.yml has no such field.
	Project *Project `json:"project,omitempty"`
}

// A Collection is a requirement.
// https://docs.ansible.com/ansible/latest/galaxy/user_guide.html#install-multiple-collections-with-a-requirements-file
type Collection struct {
	// Name of the collection, or its source.
	Name string `json:"name,omitempty"`
	// Version is a range of versions, or a tag, branch or commit. Empty means the latest.
	Version string `json:"version,omitempty"`
	// Source of the collection, or a Galaxy server.
	Source string `json:"source,omitempty"`
	// Type of the source: galaxy, git, url, file, dir or subdirs.
	Type string `json:"type,omitempty"`
	// Signatures to verify.
	Signatures []string `json:"signatures,omitempty"`
}

// A Role is a requirement.
// https://docs.ansible.com/ansible/latest/galaxy/user_guide.html#installing-multiple-roles-from-a-file
type Role struct {
	// Name under which the role is installed.
	Name string `json:"name"`
	// Src is the source of the role: the name of a role on Galaxy, a URL, or the path of an archive.
	Src string `json:"src"`
	// Scm of the source: git, hg, or empty.
	Scm string `json:"scm,omitempty"`
	// Version, tag, branch or commit. Empty means the latest.
	Version string `json:"version,omitempty"`
}

// Empty is true when nothing is required.
func (f File) Empty() bool {
	return len(f.Collections) == 0 && len(f.Roles) == 0 && f.Project == nil
}

// Merge adds the roles of a run to the requirements. A role with a source or a version is a requirement. A role with a
// two-part name is a requirement from Galaxy, unless the requirements have it, or found returns true since it is
// installed elsewhere. A role with a three-part name is in a required collection. The error names a role and a
// requirement that contradict each other, or a role with an invalid source or version.
func (f File) Merge(roles []common.Role, found func(name string) bool) (File, error) {
	merged := File{Collections: f.Collections, Roles: slices.Clone(f.Roles), Project: f.Project}

	for _, role := range roles {
		err := cmp.Or(check(fmt.Sprintf("src of role %q", role.Name), role.Src),
			check(fmt.Sprintf("version of role %q", role.Name), role.Version))
		if err != nil {
			return File{}, errors.Wrap(err, "spec.forProvider")
		}

		want := normalRole(Role{Name: role.Name, Src: role.Src, Version: role.Version})

		at := slices.IndexFunc(merged.Roles, func(have Role) bool { return have.Name == role.Name })
		if at >= 0 {
			if err := contradiction(role, want, merged.Roles[at]); err != nil {
				return File{}, errors.Wrap(err, "spec.forProvider")
			}

			continue
		}

		explicit := role.Src != "" || role.Version != ""
		if explicit || strings.Count(role.Name, ".") == 1 && !found(role.Name) {
			merged.Roles = append(merged.Roles, want)
		}
	}

	return merged, nil
}

// contradiction returns an error if a role of a run and a requirement differ in a field that the run sets.
func contradiction(said common.Role, want, have Role) error {
	if said.Src == "" {
		want.Src, want.Scm = have.Src, have.Scm
	}

	if said.Version == "" {
		want.Version = have.Version
	}

	if want == have {
		return nil
	}

	return errors.Errorf("role %q is to be %s, but is required as %s", said.Name, want.origin(), have.origin())
}

// origin describes the source and the version of a role.
func (r Role) origin() string {
	s := WithoutUser(r.Src)
	if r.Scm != "" {
		s = r.Scm + "+" + s
	}

	return fmt.Sprintf("version %q of %s", r.Version, s)
}

// normalCollection returns a collection as ansible-galaxy understands it, if it is a repository. A source that
// ansible-galaxy would take for an archive, but that can only be a repository, gets its type. Source:
// Requirement.from_requirement_dict and parse_scm of ansible-core.
func normalCollection(c Collection) Collection {
	if c.Type == "" && (strings.HasPrefix(c.Name, "git+") || strings.HasPrefix(c.Name, "git@") || isRepository(c.Name)) {
		c.Type = Git
	}

	if url, version, ok := strings.Cut(c.location(), ","); ok && c.Type == Git {
		c.Version = version

		if c.Source == "" {
			c.Name = url
		} else {
			c.Source = url
		}
	}

	if c.Version == "*" { // Any version.
		c.Version = ""
	}

	return c
}

// normalRole returns a role as ansible-galaxy understands it. A repository that ansible-galaxy would take for an
// archive gets its scm. Source: RoleRequirement.role_yaml_parse of ansible-core.
func normalRole(r Role) Role {
	if strings.Contains(r.Src, "github.com") && strings.Contains(r.Src, "http") &&
		!strings.Contains(r.Src, "+") && !strings.HasSuffix(r.Src, ".tar.gz") {
		r.Src = "git+" + r.Src
	}

	r.Name = cmp.Or(r.Name, roleName(r.Src))

	if scm, src, ok := strings.Cut(r.Src, "+"); ok {
		r.Scm, r.Src = scm, src
	}

	if r.Scm == "" && isRepository(r.Src) {
		r.Scm = Git
	}

	r.Src = cmp.Or(r.Src, r.Name)

	return r
}

// roleName returns the name that ansible-galaxy gives to a role without a name. Source:
// RoleRequirement.repo_url_to_role_name of ansible-core.
func roleName(src string) string {
	if !strings.Contains(src, "://") && !strings.Contains(src, "@") {
		return src
	}

	name := src[strings.LastIndex(src, "/")+1:]
	name = strings.TrimSuffix(name, ".git")
	name = strings.TrimSuffix(name, ".tar.gz")
	name, _, _ = strings.Cut(name, ",")

	return name
}
