package expression

import (
	"strings"
)

// messageSyntax is how errors of the parser start.
const messageSyntax = "Syntax error: "

// syntax returns an error of the parser in plain words. After is the text from the place
// of the error on: where it is Jinja2, the message says how CEL has it.
func syntax(message, after string) string {
	message, _, _ = strings.Cut(strings.TrimPrefix(message, messageSyntax), " expecting {")
	what, expected, _ := strings.Cut(message, " expecting ")

	switch {
	case after == "" && expected != "":
		what = "it ends too early, there is no " + expected
	case after == "" && !strings.HasPrefix(what, "missing "):
		what = "it ends too early"
	case expected == "<EOF>":
		what = strings.NewReplacer("extraneous input ", "unexpected ", "mismatched input ", "unexpected ").Replace(what)
	}

	what = strings.ReplaceAll(what, "'<EOF>'", "the end")

	return "syntax error: " + what + instead(after)
}

// instead returns how CEL has a word of Jinja2 or Python.
func instead(after string) string {
	word, _, _ := strings.Cut(after, " ")

	switch word {
	case "|":
		return "; there are no filters: write functions, and xr.spec.?field.orValue(…) for a default"
	case "and", "or", "not":
		return "; write && for and, || for or, and ! for not"
	case "is":
		return "; write has(xr.spec.field) for is defined"
	case "=":
		return "; write == to compare"
	case "if", "else":
		return "; write condition ? value : other"
	case "?:", "??", "?", ":":
		return "; write xr.spec.?field.orValue(…) for a default"
	}

	return ""
}

// counterpart of a name that Python or Jinja2 has, and CEL has not.
func counterpart(name string) string {
	switch name {
	case "None", "none":
		return "; write null"
	case "True", "False":
		return "; write " + strings.ToLower(name)
	case "len", "length", "count":
		return "; write size(…)"
	case "str":
		return "; write string(…)"
	case "float":
		return "; write double(…)"
	case "upper":
		return "; write upperAscii()"
	case "lower":
		return "; write lowerAscii()"
	case "not":
		return "; write !"
	case "default":
		return "; write xr.spec.?field.orValue(…)"
	}

	return ""
}
