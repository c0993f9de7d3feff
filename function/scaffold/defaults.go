package scaffold

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/crossplane/function-sdk-go/errors"
)

// defaultsIn a role, as options of the types that the values have.
func defaultsIn(dir string) ([]Option, error) {
	files, err := filepath.Glob(filepath.Join(dir, "defaults", "main", "*.y*ml"))
	if err != nil {
		return nil, errors.Wrap(err, "cannot look for defaults")
	}

	files = append(files, filepath.Join(dir, "defaults", "main.yml"), filepath.Join(dir, "defaults", "main.yaml"))

	var options []Option

	for _, f := range files {
		n := yaml.Node{}

		err := decode(f, &n)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}

		if err != nil {
			return nil, err
		}

		if len(n.Content) > 0 {
			options = append(options, guess(n.Content[0])...)
		}
	}

	return options, nil
}

// guess options from a mapping of defaults. Variables that begin with _ are the
// role's own.
func guess(n *yaml.Node) []Option {
	var options []Option

	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if strings.HasPrefix(key.Value, "_") {
			continue
		}

		o := Option{Name: key.Value, Description: comment(key.HeadComment)}
		var v any
		if err := value.Decode(&v); err != nil {
			v = nil
		}

		o.Type, o.Elements = typeOf(value, v)
		o.Secret = value.Tag == "!vault" || (o.Type == typeStr || o.Type == typeRaw) && isSecret(o.Name)

		if d, ok := o.coerce(v); ok && v != nil && !o.Secret {
			o.Default = d
		} else if v != nil && !o.Secret {
			o.Notes = append(o.Notes, "the role sets its default: "+oneLine(v))
		}

		options = append(options, o)
	}

	return options
}

// isSecret guesses from a name.
func isSecret(name string) bool {
	return slices.ContainsFunc([]string{"password", "passphrase", "secret", "token", "private_key", "api_key"},
		func(word string) bool {
			return strings.HasSuffix(name, word)
		})
}

// typeOf a value, and of its elements. What depends on other variables, and
// null, may be of any type.
func typeOf(n *yaml.Node, v any) (kind, elements string) {
	if n.Kind == yaml.ScalarNode && n.Style == 0 {
		if _, ok := coerceBool(v); ok {
			return typeBool, ""
		}
	}

	switch v := v.(type) {
	case string:
		if !isTemplate(v) {
			return typeStr, ""
		}
	case int:
		return typeInt, ""
	case float64:
		return typeFloat, ""
	case map[string]any:
		return typeDict, ""
	case []any:
		for i := range v {
			kind, _ := typeOf(n.Content[i], v[i])
			if i > 0 && kind != elements {
				return typeList, ""
			}

			elements = kind
		}

		return typeList, elements
	}

	return typeRaw, ""
}

// comment without its marks. What is above an empty line is about something
// else.
func comment(s string) string {
	paragraphs := strings.Split(s, "\n\n")

	var words []string

	for line := range strings.Lines(paragraphs[len(paragraphs)-1]) {
		words = append(words, strings.Fields(strings.TrimLeft(line, "# "))...)
	}

	return strings.Join(words, " ")
}
