package scaffold

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/crossplane/function-sdk-go/errors"
)

// home is where an operator's image has the project.
const home = "/opt/ansible"

// identifier is a part of the full name of a role or playbook.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// A project is the directory of an operator. With its galaxy.yml it is a collection, for
// both have their roles in roles and their playbooks in playbooks.
type project struct {
	dir string
	// collection is namespace.name; empty without a galaxy.yml.
	collection string
	// requirements is the content of its requirements.yml.
	requirements yaml.Node
	// files of its roles and playbooks, by their paths.
	files map[string]string
}

// loadProject in a directory.
func loadProject(dir string) (project, error) {
	p := project{dir: dir, files: map[string]string{}}

	galaxy := struct {
		Namespace string `yaml:"namespace"`
		Name      string `yaml:"name"`
	}{}

	switch err := decode(filepath.Join(dir, "galaxy.yml"), &galaxy); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return p, err
	case !identifier.MatchString(galaxy.Namespace) || !identifier.MatchString(galaxy.Name):
		return p, errors.New("galaxy.yml must have a namespace and a name of letters, digits and underscores")
	default:
		p.collection = galaxy.Namespace + "." + galaxy.Name
	}

	n := yaml.Node{}

	err := decode(filepath.Join(dir, "requirements.yml"), &n)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return p, err
	}

	if len(n.Content) > 0 {
		p.requirements = *n.Content[0]
	}

	for _, below := range []string{"roles", "playbooks"} {
		if err := p.read(below); err != nil {
			return p, err
		}
	}

	return p, nil
}

// read the files below a directory of the project.
func (p project) read(below string) error {
	root := os.DirFS(p.dir)

	err := fs.WalkDir(root, below, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}

		b, err := fs.ReadFile(root, name)
		p.files[name] = string(b)

		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	return errors.Wrap(err, "cannot read the project")
}

// slug is the name of the project as part of the name of an object.
func (p project) slug() string {
	name := p.collection
	if dir, err := filepath.Abs(p.dir); name == "" && err == nil {
		name = filepath.Base(dir)
	}

	return strings.Trim(word.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

// relative path of a role or playbook in the project.
func (p project) relative(name string) (string, error) {
	local := name

	if rest, ok := strings.CutPrefix(name, home+"/"); ok {
		local = rest
	} else if filepath.IsAbs(name) {
		dir, err := filepath.Abs(p.dir)
		if err != nil {
			return "", errors.Wrap(err, "cannot find the project")
		}

		if local, err = filepath.Rel(dir, name); err != nil {
			return "", errors.Wrap(err, "cannot find it in the project")
		}
	}

	if !filepath.IsLocal(local) {
		return "", errors.Errorf("%s is outside of the project, whose directory is %s in the operator's image", name, home)
	}

	return path.Clean(filepath.ToSlash(local)), nil
}

// role returns the full name of a role of a watch, and its directory; none for a role
// that requirements bring.
func (p project) role(name string) (full, dir string, err error) {
	local, err := p.relative(name)
	if err != nil {
		return "", "", err
	}

	for _, dir := range []string{local, path.Join("roles", local)} {
		if strings.HasPrefix(dir, "roles/") && p.has(dir) {
			full, err = p.fullName("role", "roles", dir)
			return full, dir, err
		}
	}

	switch parts := strings.Split(name, "."); {
	case len(parts) > 2 && !slices.ContainsFunc(parts, func(part string) bool { return !identifier.MatchString(part) }):
		return name, "", nil
	case len(parts) == 2 && slices.Contains(p.required("roles"), name):
		return name, "", nil
	}

	return "", "", errors.Errorf("cannot find the role %s in the directory roles of the project", name)
}

// playbook returns the full name of a playbook of a watch, and its file.
func (p project) playbook(name string) (full, file string, err error) {
	local, err := p.relative(name)
	if err != nil {
		return "", "", err
	}

	ext := path.Ext(local)

	switch _, there := p.files[local]; {
	case !strings.HasPrefix(local, "playbooks/"):
		return "", "", errors.Errorf(
			"the playbook %s is not in the directory playbooks of the project, where those of a collection are: move it there",
			local)
	case !there:
		return "", "", errors.Errorf("cannot find the playbook %s", local)
	case !slices.Contains([]string{".yml", ".yaml", ".json"}, ext):
		return "", "", errors.Errorf("the playbook %s does not end in .yml, .yaml or .json", local)
	}

	full, err = p.fullName("playbook", "playbooks", strings.TrimSuffix(local, ext))

	return full, local, err
}

// has a directory with files.
func (p project) has(dir string) bool {
	for name := range p.files {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}

	return false
}

// fullName of a role or playbook of the project: that in its collection.
func (p project) fullName(what, below, local string) (string, error) {
	parts := strings.Split(strings.TrimPrefix(local, below+"/"), "/")

	for _, part := range parts {
		if !identifier.MatchString(part) {
			return "", errors.Errorf("the %s %s: in a collection a name has letters, digits and underscores only; rename %s",
				what, local, part)
		}
	}

	if p.collection == "" {
		return "", errors.New(
			`the project has no galaxy.yml: with one its roles and playbooks are a collection, ` +
				`which ansible-galaxy installs from git. ` +
				`Write "namespace: acme", "name: ` + strings.ReplaceAll(parts[0], "-",
				"_") + `", "version: 1.0.0", "readme: README.md" and "authors: [Acme]" into it`)
	}

	return p.collection + "." + strings.Join(parts, "."), nil
}

// required names of collections or roles.
func (p project) required(kind string) []string {
	var names []string

	list := child(&p.requirements, kind)
	if kind == "roles" && p.requirements.Kind == yaml.SequenceNode {
		list = &p.requirements
	}

	if list == nil {
		return nil
	}

	for _, n := range list.Content {
		names = append(names, cmp.Or(text(n, "name"), text(n, "src"), n.Value))
	}

	return names
}

// allRequirements are those of the project, and the project itself where its content is
// used: from a source, or by its name from where Galaxy is.
func (p project) allRequirements(own bool, source string) (string, error) {
	all := newMapping()

	switch p.requirements.Kind {
	case yaml.SequenceNode:
		all.set("roles", &p.requirements)
	case yaml.MappingNode:
		all = without(&p.requirements, "collections")
	}

	collections := &yaml.Node{Kind: yaml.SequenceNode}
	if list := child(&p.requirements, "collections"); list != nil {
		collections.Content = list.Content
	}

	if own {
		item := newMapping().set("name", p.collection)

		if source != "" {
			url, version, _ := strings.Cut(source, ",")
			item = newMapping().set("name", url).set("type", "git")

			if version != "" {
				item.set("version", version)
			}
		}

		collections.Content = append(collections.Content, &item.Node)
	}

	if len(collections.Content) > 0 {
		all.set("collections", collections)
	}

	if len(all.Content) == 0 {
		return "", nil
	}

	b, err := all.document()

	return string(b), err
}

// used is the project with no other files than those of roles and playbooks, and of the roles and playbooks that these
// seem to use: they have the name as a word.
func (p project) used(paths ...string) project {
	others := map[string]bool{}

	for name := range p.files {
		// A role is its directory, and a playbook its file.
		parts := strings.SplitN(name, "/", 3)
		others[path.Join(parts[:2]...)] = true
	}

	all := p.files
	p.files = map[string]string{}

	for len(paths) > 0 {
		at := paths[0]
		paths = paths[1:]

		for name := range all {
			if name == at || strings.HasPrefix(name, at+"/") {
				p.files[name] = all[name]
			}
		}

		delete(others, at)

		for other := range others {
			base := strings.TrimSuffix(path.Base(other), path.Ext(other))
			if p.mentions(regexp.QuoteMeta(base)) != "" {
				paths = append(paths, other)
				delete(others, other)
			}
		}
	}

	return p
}

// mentions what matches a pattern as a word in a role or playbook: the first file, or none.
func (p project) mentions(pattern string) string {
	word := regexp.MustCompile(`(^|\W)` + pattern + `(\W|$)`)

	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		if word.MatchString(p.files[name]) {
			return name
		}
	}

	return ""
}

// reported are the fields of the status of a kind that tasks of the project set with the
// module k8s_status.
func (p project) reported(kind string) []string {
	var names []string

	for file := range p.files {
		if ext := path.Ext(file); ext != ".yml" && ext != ".yaml" {
			continue
		}

		n := yaml.Node{}
		if err := yaml.Unmarshal([]byte(p.files[file]), &n); err == nil {
			names = append(names, statusFields(&n, kind)...)
		}
	}

	slices.Sort(names)

	return slices.Compact(names)
}

// statusFields that the tasks in YAML set for a kind.
func statusFields(n *yaml.Node, kind string) []string {
	var names []string

	for i, below := range n.Content {
		names = append(names, statusFields(below, kind)...)

		if n.Kind != yaml.MappingNode || i%2 == 0 {
			continue
		}

		module := n.Content[i-1].Value
		if of := text(below, "kind"); (module == "k8s_status" || strings.HasSuffix(module, ".k8s_status")) &&
			(of == kind || isTemplate(of)) {
			names = append(names, keys(child(below, "status"))...)
		}
	}

	return names
}

// environment that the operator's Deployment has for Ansible.
func (p project) environment() (*mapping, error) {
	env := newMapping()

	documents, err := documentsIn(filepath.Join(p.dir, "config", "manager", "manager.yaml"))
	if errors.Is(err, os.ErrNotExist) {
		return env, nil
	}

	if err != nil {
		return nil, errors.Wrap(err, "config/manager/manager.yaml")
	}

	for _, d := range documents {
		containers := child(d, "spec", "template", "spec", "containers")
		if containers == nil {
			continue
		}

		for _, c := range containers.Content {
			list := child(c, "env")
			if list == nil {
				continue
			}

			for _, v := range list.Content {
				if name := text(v, "name"); name == "ANSIBLE_GATHERING" {
					env.set(name, text(v, "value"))
				}
			}
		}
	}

	return env, nil
}

// serviceAccount of the operator: its namespace and name, by what kustomize makes of them.
func (p project) serviceAccount() (namespace, name string) {
	first := func(parts ...string) *yaml.Node {
		documents, err := documentsIn(filepath.Join(append([]string{p.dir, "config"}, parts...)...))
		if err != nil || len(documents) == 0 {
			return nil
		}

		return documents[0]
	}

	overlay, account := first("default", "kustomization.yaml"), first("rbac", "service_account.yaml")
	if text(account, "metadata", "name") == "" {
		return "", ""
	}

	return text(overlay, "namespace"), text(overlay, "namePrefix") + text(account, "metadata", "name")
}
