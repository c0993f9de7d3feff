package scaffold

import (
	"regexp"
	"strings"
	"unicode"
)

// Names says how the names of variables become those of properties.
type Names string

// Ways from the names of variables to those of properties.
const (
	// CamelCase is what Kubernetes users expect: max_size becomes maxSize.
	CamelCase Names = "CamelCase"
	// AsIs keeps names.
	AsIs Names = "AsIs"
)

// property of an option among others. Options keep their names if these would be the same.
func (n Names) property(name string, all []Option) string {
	if n == AsIs {
		return name
	}

	p := camelCase(name)

	for _, o := range all {
		if o.Name != name && (o.Name == p || camelCase(o.Name) == p) {
			return name
		}
	}

	return p
}

// word of a name.
var word = regexp.MustCompile(`[^A-Za-z0-9]+`)

// camelCase of a name: http_port becomes httpPort.
func camelCase(name string) string {
	p := pascalCase(name)
	if p == "" {
		return name
	}

	if !word.MatchString(name) {
		return strings.ToLower(name[:1]) + name[1:]
	}

	return strings.ToLower(p[:1]) + p[1:]
}

// pascalCase of a name: web_site becomes WebSite.
func pascalCase(name string) string {
	b := &strings.Builder{}

	for _, w := range word.Split(name, -1) {
		for i, r := range w {
			if i == 0 {
				r = unicode.ToUpper(r)
			}

			b.WriteRune(r)
		}
	}

	return b.String()
}

// member of an object in an expression.
func member(property string, required bool) string {
	switch property {
	case "in", "true", "false", "null":
		if required {
			return "['" + property + "']"
		}

		return "[?'" + property + "']"
	}

	if required {
		return "." + property
	}

	return ".?" + property
}

// runName of a role or a kind.
func runName(name string) string {
	switch n := camelCase(name); n {
	case "in", "true", "false", "null":
		return n + "Role"
	default:
		return n
	}
}
