// Package requirements reads what a configuration and a run require, as Ansible
// writes it in a requirements.yml: collections and roles. What comes out is in the
// form that ansible-galaxy takes it to mean, and says of each requirement where it
// comes from and whether it may change while its version stays the same. Package
// galaxy installs it.
package requirements

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// A File has the collections and roles of a requirements.yml, in the order in which
// ansible-galaxy installs them. As JSON it is the text of such a file.
type File struct {
	Collections []Collection `json:"collections,omitempty"`
	Roles       []Role       `json:"roles,omitempty"`
	// Project that content is run from; nil for none. It is in no requirements.yml.
	Project *Project `json:"project,omitempty"`
}

// A Collection that is required.
// https://docs.ansible.com/ansible/latest/galaxy/user_guide.html#install-multiple-collections-with-a-requirements-file
type Collection struct {
	// Name of the collection, or where it comes from.
	Name string `json:"name,omitempty"`
	// Version is a range of versions, or a tag, branch or commit. Empty means
	// the latest.
	Version string `json:"version,omitempty"`
	// Source is where the collection comes from, or a Galaxy server.
	Source string `json:"source,omitempty"`
	// Type of the source: galaxy, git, url, file, dir or subdirs.
	Type string `json:"type,omitempty"`
	// Signatures to verify.
	Signatures []string `json:"signatures,omitempty"`
}

// A Role that is required.
// https://docs.ansible.com/ansible/latest/galaxy/user_guide.html#installing-multiple-roles-from-a-file
type Role struct {
	// Name that the role is installed under.
	Name string `json:"name"`
	// Src is where the role comes from: the name of a role on Galaxy, a URL, or
	// the path of an archive.
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

// Merge the roles of a run into the requirements. A role that says where it
// comes from or which version of it is a requirement. So is a role with a two-part
// name, which is one of Galaxy's, unless the requirements have it or found says
// that it is installed already. A role of a collection, with a name of three parts,
// comes with a collection that is required. The error names the role and the
// requirement that contradict each other, or the role whose src or version is a mistake.
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

// contradiction between what a run says of a role and what is required. What
// the run does not say contradicts nothing.
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

// origin is which role it is, for people.
func (r Role) origin() string {
	s := WithoutUser(r.Src)
	if r.Scm != "" {
		s = r.Scm + "+" + s
	}

	return fmt.Sprintf("version %q of %s", r.Version, s)
}

// normalCollection says in full what ansible-galaxy takes a collection requirement to mean, if it is a repository. What
// ansible-galaxy would take for an archive, and can be nothing but a repository, gets its type.
// Source: Requirement.from_requirement_dict and parse_scm of ansible-core.
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

	if c.Version == "*" { // It means any version.
		c.Version = ""
	}

	return c
}

// normalRole says in full what ansible-galaxy takes a role requirement to mean. A
// repository that ansible-galaxy would take for an archive gets its scm.
// Source: RoleRequirement.role_yaml_parse of ansible-core.
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

// roleName is the name that ansible-galaxy gives a role that has none.
// Source: RoleRequirement.repo_url_to_role_name of ansible-core.
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
