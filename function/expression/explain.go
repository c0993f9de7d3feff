package expression

import (
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
}

// selected are the names that end a text.
var selected = regexp.MustCompile(`[A-Za-z0-9_.?]*$`)

// unknown says what is not there, and what may be meant. It is selected from
// what ends before the point.
func (e *Environment) unknown(name, at string) string {
	before, after, _ := strings.Cut(at, "▸")
	if strings.HasSuffix(before, "has") {
		before, _, _ = strings.Cut(after, "."+name)
	}

	from := strings.ReplaceAll(selected.FindString(strings.TrimRight(before, ".? ")), "?", "")
	path := strings.Split(from, ".")
	schema := e.known[path[0]]
	for _, field := range path[1:] {
		schema = below(schema, field)
	}

	fields := namesIn(schema)
	suggestion := spelling.Hint(name, fields)

	if none := roots[from].none; none != "" {
		return fmt.Sprintf("%s %q%s", none, name, suggestion)
	}

	if fields == nil {
		return messageUndefined + name + "'" + e.ofSet(path)
	}

	// They are there only where nothing shows them.
	if name == connectionDetails && strings.HasPrefix(from, rootRuns+".") {
		return from + "." + name + " is for connectionDetails alone: content gets secrets by varFiles, which can name the " +
			"Secret of that run: " + from + ".spec.writeConnectionSecretToRef.name"
	}

	return fmt.Sprintf("%s has no field %q%s", from, name, suggestion)
}

// ofSet says how to write a field of a member of a set, where that follows the set; "" for what is no such field.
func (e *Environment) ofSet(path []string) string {
	const field = 3

	run, _ := e.declared.run()["properties"].(map[string]any)
	if _, ok := run[path[len(path)-1]]; !ok || len(path) != field || path[0] != rootRuns {
		return ""
	}

	return fmt.Sprintf("; runs.%s has its members by key, as in runs.%[1]s[\"KEY\"].%s", path[1], path[2])
}
