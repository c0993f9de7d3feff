package scaffold

import (
	"cmp"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// home is the directory of the project in the image of an operator.
const home = "/opt/ansible"

// identifier matches a part of the full name of a role or playbook.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// A project is the directory of an operator. With a galaxy.yml it is also a collection, since both have directories
// roles and playbooks.
type project struct {
	dir string
	// source is its git repository as URL,VERSION; empty if it is on a Galaxy server.
	source string
	// collection is namespace.name; empty without a galaxy.yml.
	collection string
	// requirements has the content of requirements.yml.
	requirements map[string]any
	// config has the manifests of the operator and its requirements, and code its roles and playbooks.
	config, code files
}

// loadProject reads the project in a directory.
func loadProject(dir, source string) (project, error) {
	p := project{source: source, requirements: map[string]any{}}

	var err error
	if p.config, err = filesIn(dir, `^(requirements\.yml$|config/|deploy/)`); err != nil {
		return p, err
	}

	if p.code, err = filesIn(dir, `^(roles|playbooks)/`); err != nil {
		return p, err
	}

	if p.dir, err = filepath.Abs(dir); err != nil {
		return p, errors.Wrap(err, "cannot find the project")
	}

	if p.collection, err = collectionIn(dir); err != nil {
		return p, err
	}

	documents, err := p.config.documents("requirements.yml")
	for _, d := range documents {
		if list, ok := d.([]any); ok {
			d = map[string]any{"roles": list}
		}

		p.requirements = object(d)
	}

	return p, err
}

// collectionIn returns namespace.name from the galaxy.yml in a directory; empty without one.
func collectionIn(dir string) (string, error) {
	var galaxy struct{ Namespace, Name string }

	text, err := os.ReadFile(filepath.Join(dir, "galaxy.yml"))
	if err == nil {
		err = files{"galaxy.yml": string(text)}.decode("galaxy.yml", &galaxy)
	}

	switch {
	case os.IsNotExist(err):
		return "", nil
	case err != nil:
		return "", err
	case !identifier.MatchString(galaxy.Namespace) || !identifier.MatchString(galaxy.Name):
		return "", errors.New("galaxy.yml must have a namespace and a name of letters, digits and underscores")
	}

	return galaxy.Namespace + "." + galaxy.Name, nil
}

// slug returns the name of the project in a form that the names of objects can contain.
func (p project) slug() string {
	name := cmp.Or(p.collection, filepath.Base(p.dir))
	return strings.Trim(separators.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

// relative returns the path of a role or playbook relative to the project.
func (p project) relative(name string) (string, error) {
	local, ok := strings.CutPrefix(name, home+"/")
	if !ok && filepath.IsAbs(name) {
		local, _ = filepath.Rel(p.dir, name) // Rel never fails for two absolute paths.
	}

	if !filepath.IsLocal(local) {
		return "", errors.Errorf("%s is outside of the project, which is %s in the operator's image", name, home)
	}

	return path.Clean(filepath.ToSlash(local)), nil
}

// role returns the role of a watch, in the project or from the requirements.
func (p project) role(name string) (part, error) {
	local, err := p.relative(name)
	if err != nil {
		return part{}, err
	}

	for _, dir := range []string{local, path.Join("roles", local)} {
		if strings.HasPrefix(dir, "roles/") && p.code.has(dir) {
			full, err := p.fullName("roles", dir)
			return part{field: fieldRole, name: full, dir: dir}, err
		}
	}

	parts := strings.Split(name, ".")
	full := len(parts) > 2 && !slices.ContainsFunc(parts, func(part string) bool { return !identifier.MatchString(part) })

	if full || len(parts) == 2 && p.requires(name) {
		return part{field: fieldRole, name: name}, nil
	}

	return part{}, errors.Errorf("cannot find the role %s in the directory roles of the project", name)
}

// playbook returns the playbook of a watch.
func (p project) playbook(name string) (part, error) {
	local, err := p.relative(name)
	if err != nil {
		return part{}, err
	}

	switch _, there := p.code[local]; {
	case !strings.HasPrefix(local, "playbooks/"):
		return part{}, errors.Errorf(
			"the playbook %s is not in the directory playbooks of the project, where those of a collection are: move it there",
			local)
	case !there:
		return part{}, errors.Errorf("cannot find the playbook %s", local)
	}

	full, err := p.fullName("playbooks", strings.TrimSuffix(local, path.Ext(local)))

	return part{field: fieldPlaybook, name: full, dir: path.Dir(local)}, err
}

// fullName returns the full name of a role or playbook in the collection of the project.
func (p project) fullName(below, local string) (string, error) {
	parts := strings.Split(strings.TrimPrefix(local, below+"/"), "/")

	for _, part := range parts {
		if !identifier.MatchString(part) {
			return "", errors.Errorf("%s: in a collection a name has letters, digits and underscores only; rename %s",
				local, part)
		}
	}

	if p.collection == "" {
		return "", errors.New(
			`the project has no galaxy.yml: with one its roles and playbooks are a collection, ` +
				`which ansible-galaxy installs from git. ` +
				`Write "namespace: acme", "name: ` + parts[0] +
				`", "version: 1.0.0", "readme: README.md" and "authors: [Acme]" into it`)
	}

	return p.collection + "." + strings.Join(parts, "."), nil
}

// requires is true for a role in the requirements.
func (p project) requires(role string) bool {
	return slices.ContainsFunc(listOf(p.requirements, "roles"), func(item any) bool {
		name, _ := item.(string)
		return role == cmp.Or(manifest.Text(object(item), "name"), manifest.Text(object(item), "src"), name)
	})
}

// allRequirements returns the requirements of the project as YAML. If own, they have the project itself, too: its git
// repository, or else its name on a Galaxy server.
func (p project) allRequirements(own bool) string {
	all := maps.Clone(p.requirements)

	if own {
		item := map[string]any{"name": p.collection}

		if p.source != "" {
			url, version, _ := strings.Cut(p.source, ",")
			item = map[string]any{"name": url, "type": "git"}

			if version != "" {
				item["version"] = version
			}
		}

		all["collections"] = append(slices.Clone(listOf(all, "collections")), item)
	}

	if len(all) == 0 {
		return ""
	}

	return textOf(all)
}

// reported returns the status fields of a kind that tasks of the project set with the module k8s_status.
func (p project) reported(kind string) []string {
	names := map[string]bool{}

	for name := range p.code {
		documents, _ := p.code.documents(name) // Files that are not YAML, such as templates, have no tasks.
		statusFields(documents, kind, names)
	}

	return manifest.SortedKeys(names)
}

// statusFields adds the status fields that tasks set for a kind to names.
func statusFields(v any, kind string, names map[string]bool) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			statusFields(v[i], kind, names)
		}
	case map[string]any:
		for module, arguments := range v {
			statusFields(arguments, kind, names)

			of := manifest.Text(object(arguments), "kind")
			if strings.HasSuffix("."+module, ".k8s_status") && (of == kind || isTemplate(of)) {
				for name := range object(object(arguments)["status"]) {
					names[name] = true
				}
			}
		}
	}
}

// serviceAccount returns the namespace and name of the operator's service account after kustomize; empty when unknown.
func (p project) serviceAccount() (namespace, name string) {
	first := func(file string) map[string]any {
		documents, _ := p.config.documents(file) // A file that cannot be read counts as missing.
		return object(slices.Concat(documents, []any{nil})[0])
	}

	overlay, account := first("config/default/kustomization.yaml"), first("config/rbac/service_account.yaml")
	if manifest.Name(account) == "" {
		return "", ""
	}

	return manifest.Text(overlay, "namespace"), manifest.Text(overlay, "namePrefix") + manifest.Name(account)
}
