package content

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// Requirements are the collections and roles that a content set is made of, in
// the order in which ansible-galaxy installs them.
type Requirements struct {
	Collections []Collection `json:"collections,omitempty"`
	Roles       []Role       `json:"roles,omitempty"`
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
func (r Requirements) Empty() bool {
	return len(r.Collections) == 0 && len(r.Roles) == 0
}

// Merge the roles of a run into the requirements. A role that says where it
// comes from or which version of it is a requirement, and so is a role with a
// two-part name, from Galaxy, unless the requirements bring it or found says
// that it is installed already. Roles of collections are left to the
// collections that are required. The error names the role and the requirement
// that contradict each other.
func (r Requirements) Merge(roles []common.Role, found func(name string) bool) (Requirements, error) {
	m := Requirements{Collections: r.Collections, Roles: slices.Clone(r.Roles)}

	for i, role := range roles {
		want := normalRole(Role{Name: role.Name, Src: role.Src, Version: role.Version})

		at := slices.IndexFunc(m.Roles, func(have Role) bool { return have.Name == role.Name })
		if at >= 0 {
			if err := contradiction(role, want, m.Roles[at]); err != nil {
				return Requirements{}, errors.Wrapf(err, "spec.forProvider.roles[%d]", i)
			}

			continue
		}

		explicit := role.Src != "" || role.Version != ""
		if explicit || strings.Count(role.Name, ".") == 1 && !found(role.Name) {
			m.Roles = append(m.Roles, want)
		}
	}

	return m, nil
}

// contradiction between what a run says of a role and what is required. What
// the run does not say contradicts nothing.
func contradiction(said common.Role, want, have Role) error {
	if said.Src != "" && (want.Src != have.Src || want.Scm != have.Scm) {
		return errors.Errorf("role %q is to come from %q, but is required from %q", said.Name, location(want), location(have))
	}

	if said.Version != "" && want.Version != have.Version {
		return errors.Errorf("role %q is to have version %q, but is required with version %q", said.Name, want.Version, have.Version)
	}

	return nil
}

func location(r Role) string {
	if r.Scm == "" {
		return withoutUser(r.Src)
	}

	return r.Scm + "+" + withoutUser(r.Src)
}

// normalRole says in full what ansible-galaxy takes a role requirement to mean,
// and more of it where it would be wrong.
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
		r.Scm = git
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

// unique leaves out requirements that are there already. The error names both
// that are not the same.
func (r Requirements) unique() (Requirements, error) {
	u := Requirements{}
	first := map[string]int{}

	for i, c := range r.Collections {
		key := cmp.Or(c.Name, c.Source)

		at, ok := first["collection "+key]
		if ok && fmt.Sprint(r.Collections[at]) != fmt.Sprint(c) {
			return Requirements{}, errors.Errorf("collections[%d] and collections[%d] both bring %q, but differ", at, i, withoutUser(key))
		}

		if !ok {
			first["collection "+key] = i
			u.Collections = append(u.Collections, c)
		}
	}

	for i, o := range r.Roles {
		at, ok := first["role "+o.Name]
		if ok && r.Roles[at] != o {
			return Requirements{}, errors.Errorf("roles[%d] and roles[%d] both bring %q, but differ", at, i, o.Name)
		}

		if !ok {
			first["role "+o.Name] = i
			u.Roles = append(u.Roles, o)
		}
	}

	return u, nil
}

// collectionsFile is the text of a requirements.yml with the collections only.
// JSON is YAML.
func (r Requirements) collectionsFile() ([]byte, error) {
	return json.Marshal(map[string]any{"collections": r.Collections})
}

// rolesFile is the text of a requirements.yml with the roles only.
func (r Requirements) rolesFile() ([]byte, error) {
	return json.Marshal(map[string]any{"roles": r.Roles})
}
