package expression

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common"

	"github.com/crossplane-ansible/crossplane-ansible/function/spelling"
)

// Messages of CEL.
const (
	messageSyntax     = "Syntax error: "
	messageUndefined  = "undefined field '"
	messageUndeclared = "undeclared reference to '"
	messageNoMatch    = "found no matching overload for '"
)

// ofSchema are errors that only a schema may bring about. What a list or a map holds is looked at when it is used.
var ofSchema = regexp.MustCompile(regexp.QuoteMeta(prefix) + `|cannot be range of a comprehension|` +
	messageNoMatch + `((_\?_:_|_==_|_!=_|@in|_\[_\])'|.*(list|map|optional_type)\()`)

// isMistake is false for errors that only a schema may bring about.
func isMistake(err *common.Error) bool {
	return strings.Contains(err.Message, messageUndefined) || !ofSchema.MatchString(err.Message)
}

// explain what is wrong with an expression, and where.
func (e *Environment) explain(source string, errs []*common.Error) []string {
	messages := make([]string, len(errs))
	for i, err := range errs {
		messages[i] = e.explainOne(source, err)
	}

	return slices.Compact(messages)
}

func (e *Environment) explainOne(source string, err *common.Error) string {
	message := strings.TrimSuffix(err.Message, " (in container '')")
	at := point(source, err.Location)

	if name, ok := strings.CutPrefix(message, messageUndeclared); ok {
		message = e.undeclared(message, strings.TrimSuffix(name, "'"))
	}

	if name, ok := strings.CutPrefix(message, messageUndefined); ok {
		message = e.unknown(strings.TrimSuffix(name, "'"), at)
	}

	if strings.HasPrefix(message, messageSyntax) {
		_, after, _ := strings.Cut(at, "▸")
		message = syntaxError(message, after)
	}

	if call, ok := strings.CutPrefix(message, messageNoMatch); ok {
		function, operands, _ := strings.Cut(call, "'")
		message += remedy(function, operands)
	}

	return fmt.Sprintf("%s, here: %s", message, at)
}

// undeclared says why there is no such root, or what may be meant.
func (e *Environment) undeclared(message, name string) string {
	switch {
	case name == rootEach:
		return "each is there only in a run with forEach, and in no local"
	case e.declared.Operation && isRoot(name):
		return inOperation[name] + " in an Operation"
	}

	return message + idioms[name]
}

// syntaxError returns an error of the parser in plain words. After is the text from the place of the error on: where it is
// Jinja2, the message says how CEL has it.
func syntaxError(message, after string) string {
	message, _, _ = strings.Cut(strings.TrimPrefix(message, messageSyntax), " expecting ")
	word, _, _ := strings.Cut(after, " ")

	if after == "" {
		return "syntax error: it ends too early"
	}

	return "syntax error: " + message + idioms[word]
}

// idioms of Jinja2 and Python, and how CEL has them.
var idioms = map[string]string{ //nolint:gochecknoglobals // It is a constant.
	"|":     "; there are no filters: write functions, and xr.spec.?field.orValue(…) for a default",
	"and":   "; write &&",
	"or":    "; write ||",
	"not":   "; write !",
	"is":    "; write has(xr.spec.field) for is defined",
	"if":    "; write condition ? value : other",
	"None":  "; write null",
	"True":  "; write true",
	"False": "; write false",
	"len":   "; write size(…)",
	"yaml":  "; write json.marshal(…), the text of which is YAML, too; content reads YAML with from_yaml",
}

// unknown says what is not there, and what may be meant. It is selected from
// what ends before the point.
func (e *Environment) unknown(name, at string) string {
	before, after, _ := strings.Cut(at, "▸")
	if strings.HasSuffix(before, "has") {
		before, _, _ = strings.Cut(after, "."+name)
	}

	before = strings.TrimRight(before, ".? ")
	start := strings.LastIndexFunc(before, func(r rune) bool { return r != '.' && r != '?' && !inIdentifier(r) }) + 1
	from := strings.ReplaceAll(before[start:], "?", "")

	path := strings.Split(from, ".")

	fields := e.types.fieldsAt(path)
	suggestion := spelling.Hint(name, fields)

	if none := roots[from].none; none != "" {
		return fmt.Sprintf("%s %q%s", none, name, suggestion)
	}

	if fields == nil {
		return cmp.Or(e.ofMember(path), messageUndefined+name+"'")
	}

	// They are there only where nothing shows them.
	if name == connectionDetails && strings.HasPrefix(from, rootRuns+".") {
		return from + "." + name + " is for connectionDetails alone: content gets secrets by varFiles, which can name the " +
			"Secret of that run: " + from + ".spec.writeConnectionSecretToRef.name"
	}

	return fmt.Sprintf("%s has no field %q%s", from, name, suggestion)
}

// ofMember says how to write a field of the runs of a set, which follows the set as the key of one would; "" for what
// is none.
func (e *Environment) ofMember(path []string) string {
	const field = 3
	if len(path) != field || path[0] != rootRuns {
		return ""
	}

	run, _ := below(e.known[rootRuns], path[1])["additionalProperties"].(map[string]any)
	fields, _ := run["properties"].(map[string]any)

	if _, ok := fields[path[2]]; !ok && path[2] != connectionDetails {
		return ""
	}

	set, name := strings.Join(path[:2], "."), path[2]

	return fmt.Sprintf("%s is a map of the members of forEach: write %s[\"KEY\"].%s, or "+
		"%s.transformList(key, run, run.%s)", set, set, name, set, name)
}

// remedy for operands that do not go together.
func remedy(function, operands string) string {
	text := strings.Contains(operands, "string")

	switch {
	case strings.Contains(operands, "(list") || strings.Contains(operands, "map"):
		return ""
	case function == "base64.encode" && text:
		return "; write bytes(…) around a string"
	case function == "_+_" && text:
		return "; write string(…) around what is no string"
	case strings.Contains(operands, "int") && strings.Contains(operands, "double"):
		return "; integers and doubles do not mix: write double(…) around the integer, or 2.0 for 2"
	}

	return ""
}
