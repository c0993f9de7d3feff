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
			n := quoted(s[i:], raw(s[:i]))
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

// raw is true when a quote after this source starts a raw string, r"…" or
// br"…".
func raw(before string) bool {
	prefix := ""

	for i := len(before) - 1; i >= 0 && inIdentifier(before[i]); i-- {
		prefix = before[i:]
	}

	switch strings.ToLower(prefix) {
	case "r", "rb", "br":
		return true
	}

	return false
}

// quoted returns the length of the string literal at the start of s, or -1 when
// it has no end.
func quoted(s string, raw bool) int {
	quote := s[:1]
	if strings.HasPrefix(s, strings.Repeat(quote, 3)) {
		quote = s[:3]
	}

	for i := len(quote); i < len(s); i++ {
		if s[i] == '\\' && !raw {
			i++
			continue
		}

		if strings.HasPrefix(s[i:], quote) {
			return i + len(quote)
		}
	}

	return -1
}

// point shows what is around a location in a source, with a ▸ before it.
func point(source string, at common.Location) string {
	const around = 60

	lines := strings.Split(source, "\n")
	if at.Line() < 1 || at.Line() > len(lines) {
		return strings.Join(strings.Fields(source), " ")
	}

	before := []rune(strings.Join(lines[:at.Line()-1], " "))
	if len(before) > 0 {
		before = append(before, ' ')
	}

	line := []rune(lines[at.Line()-1])
	column := min(max(at.Column(), 0), len(line))
	before = append(before, line[:column]...)
	after := line[column:]

	if len(before) > around {
		before = append([]rune("…"), before[len(before)-around:]...)
	}

	if len(after) > around {
		after = append(after[:around:around], '…')
	}

	return string(before) + "▸" + string(after)
}
