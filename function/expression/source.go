package expression

import (
	"strings"

	"github.com/google/cel-go/common"

	"github.com/crossplane/function-sdk-go/errors"
)

// A part of a string: text, or the source of an expression.
type part struct {
	text       string
	expression bool
	// program of an expression, once it is compiled without a mistake.
	program *program
}

// split a string into text and expressions. $${ is the text ${. The error says
// which expression has no end.
func split(s string) ([]part, error) {
	var (
		parts []part
		text  strings.Builder
	)

	for len(s) > 0 {
		switch {
		case strings.HasPrefix(s, "$${"):
			text.WriteString("${")

			s = s[len("$${"):]
		case strings.HasPrefix(s, "${"):
			n := end(s[len("${"):])
			if n < 0 {
				return nil, errors.Errorf("the expression %q has no end: a } or a closing quote is missing", s)
			}

			if text.Len() > 0 {
				parts = append(parts, part{text: text.String()})
				text.Reset()
			}

			parts = append(parts, part{text: s[len("${") : len("${")+n], expression: true})
			s = s[len("${")+n+len("}"):]
		default:
			text.WriteByte(s[0])

			s = s[1:]
		}
	}

	if text.Len() > 0 {
		parts = append(parts, part{text: text.String()})
	}

	return parts, nil
}

// end returns the index of the } that ends an expression, or -1.
// Braces in CEL's string literals and comments do not count.
func end(s string) int {
	depth := 0

	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i
			}

			depth--
		case '\'', '"':
			n := quoted(s[i:])
			if n < 0 {
				return -1
			}

			i += n - 1
		case '/':
			if strings.HasPrefix(s[i:], "//") {
				n := strings.IndexByte(s[i:], '\n')
				if n < 0 {
					return -1
				}

				i += n
			}
		}
	}

	return -1
}

// quoted returns the length of the string literal at the start of s, or -1 when it has no end. A raw one may hold a
// backslash, but not before its end.
func quoted(s string) int {
	quote := s[:1]
	if strings.HasPrefix(s, strings.Repeat(quote, 3)) {
		quote = s[:3]
	}

	for i := len(quote); i < len(s); i++ {
		if s[i] == '\\' {
			i++
			continue
		}

		if strings.HasPrefix(s[i:], quote) {
			return i + len(quote)
		}
	}

	return -1
}

// point shows what is around a location in a source, in one line with a ▸ before it.
func point(source string, at common.Location) string {
	const around = 60

	offset, ok := common.NewTextSource(source).LocationOffset(at)
	if !ok {
		return strings.Join(strings.Fields(source), " ")
	}

	line := []rune(strings.ReplaceAll(source, "\n", " "))
	n := max(0, min(int(offset), len(line)))
	before, after := string(line[:n]), string(line[n:])

	if n > around {
		before = "…" + string(line[n-around:n])
	}

	if len(line)-n > around {
		after = string(line[n:n+around]) + "…"
	}

	return before + "▸" + after
}
