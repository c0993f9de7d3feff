package scaffold

import (
	"regexp"
	"slices"
	"strings"
)

// propertyOf an XR that an option among others becomes. Kubernetes users expect maxSize for max_size. Options keep
// their names if these would be the same.
func propertyOf(name string, all []Option) string {
	p := camelCase(name)

	if slices.ContainsFunc(all, func(o Option) bool { return o.Name != name && (o.Name == p || camelCase(o.Name) == p) }) {
		return name
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

	return strings.ToLower(p[:1]) + p[1:]
}

// pascalCase of a name: web_site becomes WebSite.
func pascalCase(name string) string {
	words := strings.Fields(word.ReplaceAllString(name, " "))
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}

	return strings.Join(words, "")
}
