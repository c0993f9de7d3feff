// Package yamltext reads YAML of users as PyYAML, which Ansible uses, does, and writes YAML that PyYAML reads.
package yamltext

import (
	"fmt"
	"io"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// ErrMany means that a text has more than one document.
var ErrMany = errors.New("it must be a single document")

// Parse returns the root of the only document of a text, or nil if there is none. The error is ErrMany with a line, or
// that of Check or the parser.
func Parse(text string) (*yaml.Node, error) {
	if err := Check([]byte(text)); err != nil {
		return nil, err
	}

	d := yaml.NewDecoder(strings.NewReader(text))

	var document, next yaml.Node

	if err := d.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil // An empty text is no mistake.
	} else if err != nil {
		return nil, err
	}

	switch err := d.Decode(&next); {
	case err == nil:
		return nil, errors.Wrapf(ErrMany, "line %d", next.Line)
	case !errors.Is(err, io.EOF):
		return nil, err
	}

	return document.Content[0], nil
}

// Quote returns a string as a double-quoted scalar of printable ASCII. PyYAML takes neither the surrogate pairs of JSON
// nor unprintable characters. A %TAG inside the string is escaped, so that Check does not count it as a directive.
func Quote(s string) string {
	var b strings.Builder

	b.WriteByte('"')

	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c >= ' ' && c <= '~':
			b.WriteRune(c)
		case c > 0xffff: // The basic multilingual plane ends there.
			fmt.Fprintf(&b, `\U%08x`, c)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}

	b.WriteByte('"')

	return strings.ReplaceAll(b.String(), "%TAG", `\u0025TAG`)
}
