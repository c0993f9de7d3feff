package requirements

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
)

// maxItems is how many collections, and how many roles, may be required.
const maxItems = 1000

// Parse the text of a requirements.yml: a mapping with collections and roles,
// or a list of roles. Versions count as written, 1.10 is not 1.1. What
// ansible-galaxy would silently ignore is an error; each error names the path
// within the text. The same requirement twice is one.
func Parse(text string) (File, error) { return ParseIn(text, nil) }

// ParseIn parses requirements that include others, as roles may. They are read by their path as it is written.
func ParseIn(text string, read func(name string) ([]byte, error)) (File, error) {
	root, err := yamltext.Parse(text)

	switch {
	case errors.Is(err, yamltext.ErrMany):
		return File{}, errors.New("must be a single YAML document")
	case err != nil:
		return File{}, errors.Wrap(err, "is not valid YAML")
	case root == nil:
		return File{}, nil
	}

	f, err := parseRoot(deref(root), read)
	if err != nil {
		return File{}, err
	}

	if f.Collections, err = unique("collections", f.Collections, collectionKey); err != nil {
		return File{}, err
	}

	f.Roles, err = unique("roles", f.Roles, func(r Role) string { return r.Name })

	return f, err
}

// unique leaves out requirements that are there already. The error names two that
// have the same key and are not the same.
func unique[T any](field string, items []T, key func(T) string) ([]T, error) {
	var kept []T

	first := map[string]int{}

	for i, item := range items {
		k := key(item)

		at, ok := first[k]
		if ok && fmt.Sprint(items[at]) != fmt.Sprint(item) {
			return nil, errors.Errorf("%s[%d] and %s[%d] both bring %q, but differ", field, at, field, i, WithoutUser(k))
		}

		if !ok {
			first[k] = i
			kept = append(kept, item)
		}
	}

	return kept, nil
}

func parseRoot(n *yaml.Node, read func(string) ([]byte, error)) (File, error) {
	switch {
	case isNull(n):
		return File{}, nil
	case n.Kind == yaml.SequenceNode:
		roles, err := parseRoles(n, field.NewPath("roles"), read)

		return File{Roles: roles}, err
	}

	f := File{}

	err := eachField(n, nil, func(key string, value *yaml.Node) (err error) {
		switch key {
		case "collections":
			f.Collections, err = parseList(value, field.NewPath(key), parseCollection)
		case "roles":
			f.Roles, err = parseRoles(value, field.NewPath(key), read)
		default:
			err = errors.Errorf("%q is neither collections nor roles", key)
		}

		return err
	})

	return f, err
}

func parseList[T any](n *yaml.Node, path *field.Path, parse func(*yaml.Node, *field.Path) (T, error)) ([]T, error) {
	if isNull(n) {
		return nil, nil
	}

	if n.Kind != yaml.SequenceNode {
		return nil, errors.Errorf("%s must be a list", path)
	}

	if len(n.Content) > maxItems {
		return nil, errors.Errorf("%s must have at most %d items, not %d", path, maxItems, len(n.Content))
	}

	list := make([]T, len(n.Content))

	for i, item := range n.Content {
		v, err := parse(deref(item), path.Index(i))
		if err != nil {
			return nil, err
		}

		list[i] = v
	}

	return list, nil
}

// parseRoles reads a list of roles, with those of files that it includes.
func parseRoles(n *yaml.Node, path *field.Path, read func(string) ([]byte, error)) ([]Role, error) {
	lists, err := parseList(n, path, func(n *yaml.Node, path *field.Path) ([]Role, error) {
		if n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[0].Value == "include" {
			return included(deref(n.Content[1]), path.Child("include"), read)
		}

		r, err := parseRole(n, path)

		return []Role{r}, err
	})

	roles := slices.Concat(lists...)
	if len(roles) > maxItems {
		return nil, errors.Errorf("%s must have at most %d items, not %d", path, maxItems, len(roles))
	}

	return roles, err
}

// included returns the roles of a file. It may not include others, as with ansible-galaxy.
func included(n *yaml.Node, path *field.Path, read func(string) ([]byte, error)) ([]Role, error) {
	name, err := text(n, path)
	if err != nil {
		return nil, err
	}

	if read == nil {
		return nil, errors.Errorf("%s: only a file that a project has itself can include another one", path)
	}

	data, err := read(name)
	if err != nil {
		return nil, errors.Wrap(err, path.String())
	}

	f, err := Parse(string(data))
	if err == nil && len(f.Collections) > 0 {
		err = errors.New("must be a list of roles")
	}

	return f.Roles, errors.Wrapf(err, "%s: %s", path, name)
}

func parseCollection(n *yaml.Node, path *field.Path) (Collection, error) {
	if n.Kind == yaml.ScalarNode {
		name, err := text(n, path)
		if err != nil {
			return Collection{}, err
		}

		return normalCollection(Collection{Name: name}, path)
	}

	c := Collection{}

	err := eachText(n, path,
		map[string]*string{"name": &c.Name, "version": &c.Version, "source": &c.Source, "type": &c.Type},
		func(key string, value *yaml.Node) (err error) {
			if key != "signatures" {
				return errors.Errorf("%s is not known", path.Child(key))
			}

			c.Signatures, err = parseSignatures(value, path.Child(key))

			return err
		})
	if err != nil {
		return Collection{}, err
	}

	return normalCollection(c, path)
}

// normalCollection leaves out the version that means any, and gives a repository its
// type.
func normalCollection(c Collection, path *field.Path) (Collection, error) {
	if c.Name == "" && c.Source == "" {
		return Collection{}, errors.Errorf("%s must have a name or a source", path)
	}

	if !slices.Contains([]string{"", Galaxy, Git, "url", "file", "dir", "subdirs"}, c.Type) {
		return Collection{}, errors.Errorf("%s.type must be galaxy, git, url, file, dir or subdirs, not %q", path, c.Type)
	}

	if c.Type == "" && isRepository(c.Name) {
		c.Type = Git
	}

	if c.Version == "*" {
		c.Version = ""
	}

	return c, nil
}

func parseSignatures(n *yaml.Node, path *field.Path) ([]string, error) {
	if n.Kind == yaml.ScalarNode {
		s, err := text(n, path)

		return []string{s}, err
	}

	return parseList(n, path, text)
}

var nameOfRole = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

func parseRole(n *yaml.Node, path *field.Path) (Role, error) {
	r, err := parseRoleFields(n, path)
	if err != nil {
		return Role{}, err
	}

	if r.Name == "" && r.Src == "" {
		return Role{}, errors.Errorf("%s must have a name or a src", path)
	}

	r = normalRole(r)

	if !nameOfRole.MatchString(r.Name) {
		return Role{}, errors.Errorf("%s.name: %q is not the name of a role", path, r.Name)
	}

	if !slices.Contains([]string{"", Git, "hg"}, r.Scm) {
		return Role{}, errors.Errorf("%s.scm must be git or hg, not %q", path, r.Scm)
	}

	return r, nil
}

func parseRoleFields(n *yaml.Node, path *field.Path) (Role, error) {
	if n.Kind == yaml.ScalarNode {
		return parseRoleLine(n, path)
	}

	r := Role{}

	err := eachText(n, path, map[string]*string{
		"name": &r.Name, "role": &r.Name, "src": &r.Src, "scm": &r.Scm,
		"version": &r.Version,
	},
		func(key string, _ *yaml.Node) error { return errors.Errorf("%s is not known", path.Child(key)) })

	return r, err
}

// parseRoleLine reads src[,version[,name]].
func parseRoleLine(n *yaml.Node, path *field.Path) (Role, error) {
	line, err := text(n, path)
	if err != nil {
		return Role{}, err
	}

	parts := strings.Split(line, ",")
	if len(parts) > 3 {
		return Role{}, errors.Errorf("%s must be src[,version[,name]]", path)
	}

	if slices.ContainsFunc(parts, isOption) {
		return Role{}, errors.Errorf("%s must not start with a dash", path)
	}

	parts = append(parts, "", "")

	return Role{Src: parts[0], Version: parts[1], Name: parts[2]}, nil
}

// eachField calls fn for each field of a mapping until it fails.
func eachField(n *yaml.Node, path *field.Path, fn func(key string, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		if path == nil {
			return errors.New("must be a mapping with collections and roles, or a list of roles")
		}

		return errors.Errorf("%s must be a string or a mapping", path)
	}

	seen := map[string]bool{}

	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if seen[key] {
			return errors.Errorf("%s is there twice", path.Child(key))
		}

		seen[key] = true

		if err := fn(key, deref(n.Content[i+1])); err != nil {
			return err
		}
	}

	return nil
}

// eachText reads the fields of a mapping that are texts, and calls fn for each other
// one until it fails.
func eachText(n *yaml.Node, path *field.Path, texts map[string]*string,
	fn func(key string, value *yaml.Node) error,
) error {
	return eachField(n, path, func(key string, value *yaml.Node) (err error) {
		into, ok := texts[key]
		if !ok {
			return fn(key, value)
		}

		*into, err = text(value, path.Child(key))

		return err
	})
}

// text of a scalar as it was written. ansible-galaxy hands it to git, which
// must not take it for an option.
func text(n *yaml.Node, path *field.Path) (string, error) {
	if isNull(n) {
		return "", nil
	}

	plain := []string{"!!str", "!!int", "!!float", "!!timestamp"}
	if n.Kind != yaml.ScalarNode || !slices.Contains(plain, n.ShortTag()) {
		return "", errors.Errorf("%s must be a string", path)
	}

	if isOption(n.Value) || strings.Contains(n.Value, ",-") {
		return "", errors.Errorf("%s must not start with a dash", path)
	}

	if strings.ContainsFunc(n.Value, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "", errors.Errorf("%s must be printable", path)
	}

	return n.Value, nil
}

func isOption(s string) bool {
	return strings.HasPrefix(strings.TrimPrefix(strings.TrimSpace(s), "git+"), "-")
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

func deref(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}

	return n
}
