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

// Parse parses the text of a requirements.yml: a mapping with collections and roles, or a list of roles. Versions are
// texts as written: 1.10 is not 1.1. Fields that ansible-galaxy would silently ignore are errors. Each error has the
// path within the text. Equal requirements are merged.
func Parse(text string) (File, error) {
	root, err := yamltext.Parse(text)

	switch {
	case errors.Is(err, yamltext.ErrMany):
		return File{}, errors.New("must be a single YAML document")
	case err != nil:
		return File{}, errors.Wrap(err, "is not valid YAML")
	case root == nil:
		return File{}, nil
	}

	f, err := parseRoot(resolveAlias(root))
	if err != nil {
		return File{}, err
	}

	return File{}.Union(f)
}

// unique removes equal items. The error names two items with the same key that differ.
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

func parseRoot(n *yaml.Node) (f File, err error) {
	collections, roles := &yaml.Node{}, n

	switch {
	case n.Kind == yaml.MappingNode:
		roles = &yaml.Node{}
		err = parseFields(n, nil, map[string]any{"collections": &collections, "roles": &roles})
	case n.Kind != yaml.SequenceNode && !isNull(n):
		err = errors.New("must be a mapping with collections and roles, or a list of roles")
	}

	if err == nil {
		f.Collections, err = parseList(collections, field.NewPath("collections"), parseCollection)
	}

	if err == nil {
		f.Roles, err = parseList(roles, field.NewPath("roles"), parseRole)
	}

	return f, err
}

func parseList[T any](n *yaml.Node, path *field.Path, parse func(*yaml.Node, *field.Path) (T, error)) ([]T, error) {
	switch {
	case isNull(n):
		return nil, nil
	case n.Kind != yaml.SequenceNode:
		return nil, errors.Errorf("%s must be a list", path)
	case len(n.Content) > maxItems:
		return nil, errors.Errorf("%s must have at most %d items, not %d", path, maxItems, len(n.Content))
	}

	list := make([]T, len(n.Content))

	for i, item := range n.Content {
		var err error
		if list[i], err = parse(resolveAlias(item), path.Index(i)); err != nil {
			return nil, err
		}
	}

	return list, nil
}

func parseCollection(n *yaml.Node, path *field.Path) (c Collection, err error) {
	if n.Kind == yaml.ScalarNode {
		c.Name, err = text(n, path)
	} else {
		err = parseFields(n, path, map[string]any{
			"name": &c.Name, "version": &c.Version, "source": &c.Source, "type": &c.Type, "signatures": &c.Signatures,
		})
	}

	switch c = normalCollection(c); {
	case err != nil:
		return c, err
	case c.Name == "" && c.Source == "":
		return c, errors.Errorf("%s must have a name or a source", path)
	case !slices.Contains([]string{"", Galaxy, Git, "url", "file", "dir", "subdirs"}, c.Type):
		return c, errors.Errorf("%s.type must be galaxy, git, url, file, dir or subdirs, not %q", path, c.Type)
	}

	return c, nil
}

var nameOfRole = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

func parseRole(n *yaml.Node, path *field.Path) (r Role, err error) {
	if n.Kind == yaml.ScalarNode {
		r, err = parseRoleLine(n, path)
	} else {
		err = parseFields(n, path, map[string]any{
			"name": &r.Name, "role": &r.Name, "src": &r.Src, "scm": &r.Scm, "version": &r.Version,
		})
	}

	if err != nil {
		return r, err
	}

	if r.Name == "" && r.Src == "" {
		return r, errors.Errorf("%s must have a name or a src", path)
	}

	named := r.Name != ""

	switch r = normalRole(r); {
	case !named && !nameOfRole.MatchString(r.Name): // Such a name may contain a token in the query of a URL.
		return r, errors.Errorf("%s must have a name: the end of its src is not the name of a role", path)
	case !nameOfRole.MatchString(r.Name):
		return r, errors.Errorf("%s.name: %q is not the name of a role", path, r.Name)
	case !slices.Contains([]string{"", Git, "hg"}, r.Scm):
		return r, errors.Errorf("%s.scm must be git or hg, not %q", path, r.Scm)
	}

	return r, nil
}

// parseRoleLine parses src[,version[,name]].
func parseRoleLine(n *yaml.Node, path *field.Path) (Role, error) {
	line, err := text(n, path)
	parts := append(strings.Split(line, ","), "", "")

	if err == nil && len(parts) > 5 {
		err = errors.Errorf("%s must be src[,version[,name]]", path)
	}

	return Role{Src: parts[0], Version: parts[1], Name: parts[2]}, err
}

// parseFields parses the fields of a mapping into variables by name: a text, a list of texts, which may be a single
// text, or a node.
func parseFields(n *yaml.Node, path *field.Path, into map[string]any) error {
	if n.Kind != yaml.MappingNode {
		return errors.Errorf("%s must be a string or a mapping", path)
	}

	seen := map[string]bool{}

	for pair := range slices.Chunk(n.Content, 2) {
		key, value := pair[0].Value, resolveAlias(pair[1])
		at := path.Child(key)

		if seen[key] {
			return errors.Errorf("%s is given twice", at)
		}

		seen[key] = true

		var err error

		switch into := into[key].(type) {
		case *string:
			*into, err = text(value, at)
		case *[]string:
			if value.Kind == yaml.ScalarNode {
				value = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{value}}
			}

			*into, err = parseList(value, at, text)
		case **yaml.Node:
			*into = value
		default:
			if err = errors.Errorf("%s is not a known field", at); path == nil {
				err = errors.Errorf("%q is neither collections nor roles", key)
			}
		}

		if err != nil {
			return err
		}
	}

	return nil
}

// text returns a scalar as it was written.
func text(n *yaml.Node, path *field.Path) (string, error) {
	if isNull(n) {
		return "", nil
	}

	plain := []string{"!!str", "!!int", "!!float", "!!timestamp"}
	if n.Kind != yaml.ScalarNode || !slices.Contains(plain, n.ShortTag()) {
		return "", errors.Errorf("%s must be a string", path)
	}

	return n.Value, check(path.String(), n.Value)
}

// check returns an error for an unsafe text in a requirement. ansible-galaxy passes it to git or hg, which must not
// take it for an option. It must have no password, since every process can see arguments. It must be printable, so that
// an error shows all of it.
func check(field, value string) error {
	switch {
	case slices.ContainsFunc(strings.Split(value, ","), isOption):
		return errors.Errorf("%s must not start with a dash", field)
	case strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.Errorf("%s must be printable", field)
	case passwordInURL.MatchString(value):
		return errors.Errorf("%s must not have a password or a token in a URL: write it into a credential of the "+
			"configuration, .git-credentials for a repository or .netrc for an archive", field)
	}

	return nil
}

// isOption is true for an option, also after the scm of a URL.
func isOption(s string) bool {
	_, url, _ := strings.Cut(s, "+")

	return strings.HasPrefix(strings.TrimSpace(s), "-") || strings.HasPrefix(strings.TrimSpace(url), "-")
}

func isNull(n *yaml.Node) bool {
	return n.Kind == 0 || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

func resolveAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}

	return n
}
