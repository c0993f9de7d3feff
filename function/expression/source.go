package expression

import (
	"regexp"
	"strings"

	"github.com/google/cel-go/common"

	"github.com/crossplane/function-sdk-go/errors"
)

// A part of a string: text, or the source of an expression.
type part struct {
	text       string
	expression bool
	// program of an expression, once it is compiled.
	program *program
	// path of the value that it is in.
	path string
}

// split a string into text and expressions. $${ is the text ${. The error says
// which expression has no end.
func split(s string) ([]part, error) {
	var (
		parts []part
		text  strings.Builder
	)

	for {
		before, after, found := strings.Cut(s, "${")
		if found && strings.HasSuffix(before, "$") {
			text.WriteString(before + "{")
			s = after

			continue
		}

		if text.WriteString(before); text.Len() > 0 {
			parts = append(parts, part{text: text.String()})
			text.Reset()
		}

		if !found {
			return parts, nil
		}

		n := end(after)
		if n < 0 {
			return nil, errors.Errorf("the expression %q has no end: a } or a closing quote is missing", "${"+after)
		}

		parts = append(parts, part{text: after[:n], expression: true})
		s = after[n+len("}"):]
	}
}

// tokens of CEL that matter for where an expression ends: string literals, comments and braces. A quote alone is that
// of a string literal without an end.
var tokens = regexp.MustCompile(`(?s)"""(?:\\.|[^\\])*?"""|'''(?:\\.|[^\\])*?'''|` +
	`"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|//[^\n]*\n?|["'{}]`)

// end returns the index of the } that ends an expression, or -1. Braces in CEL's string literals and comments do not
// count. A raw string literal may hold a backslash, but not before its end.
func end(s string) int {
	depth := 0

	for _, at := range tokens.FindAllStringIndex(s, -1) {
		switch s[at[0]:at[1]] {
		case `"`, "'":
			return -1
		case "{":
			depth++
		case "}":
			if depth == 0 {
				return at[0]
			}

			depth--
		}
	}

	return -1
}

// point shows a source in one line, with a ▸ before a location in it.
func point(source string, at common.Location) string {
	offset, _ := common.NewTextSource(source).LocationOffset(at)
	line := []rune(strings.ReplaceAll(source, "\n", " "))
	n := max(0, min(int(offset), len(line)))

	return string(line[:n]) + "▸" + string(line[n:])
}
