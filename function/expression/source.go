package expression

import (
	"regexp"
	"strings"

	"github.com/google/cel-go/common"

	"github.com/crossplane/function-sdk-go/errors"
)

// A part is a part of a string: literal text, or an expression.
type part struct {
	// text is the literal text, or the source of the expression.
	text       string
	expression bool
	// program is the compiled expression.
	program *program
	// path is the path of the string.
	path string
}

// split splits a string into literal text and expressions. $${ is the literal text ${. The error is about an expression
// without an end.
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

// tokens matches the CEL tokens that determine the end of an expression: string literals, comments and braces. A single
// quote matches only if its string literal has no end.
var tokens = regexp.MustCompile(`(?s)"""(?:\\.|[^\\])*?"""|'''(?:\\.|[^\\])*?'''|` +
	`"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|//[^\n]*\n?|["'{}]`)

// end returns the index of the } that ends an expression, or -1. It ignores braces in string literals and comments. A
// raw string literal must not end with a backslash.
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

// point returns a source in one line, with a ▸ before a location in it.
func point(source string, at common.Location) string {
	offset, _ := common.NewTextSource(source).LocationOffset(at)
	line := []rune(strings.ReplaceAll(source, "\n", " "))
	n := max(0, min(int(offset), len(line)))

	return string(line[:n]) + "▸" + string(line[n:])
}
