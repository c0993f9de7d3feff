package scaffold

import (
	"regexp"
	"slices"
	"strings"
)

// propertyOf returns the name in camel case of the field of an XR for an option of a role: maxSize for max_size. It
// returns the name of the option if another option would have the same field.
func propertyOf(name string, all []Option) string {
	p := camelCase(name)

	if slices.ContainsFunc(all, func(o Option) bool { return o.Name != name && (o.Name == p || camelCase(o.Name) == p) }) {
		return name
	}

	return p
}

// separators matches the characters between words.
var separators = regexp.MustCompile(`[^A-Za-z0-9]+`)

// camelCase converts a name to camel case: http_port becomes httpPort.
func camelCase(name string) string {
	p := pascalCase(name)
	if p == "" {
		return name
	}

	return strings.ToLower(p[:1]) + p[1:]
}

// pascalCase converts a name to Pascal case: web_site becomes WebSite.
func pascalCase(name string) string {
	words := strings.Fields(separators.ReplaceAllString(name, " "))
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}

	return strings.Join(words, "")
}
