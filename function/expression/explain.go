package expression

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common"

	"github.com/crossplane-ansible/crossplane-ansible/function/spelling"
)

// messageUndefined is the start of CEL's message about an undefined field.
const messageUndefined = "undefined field"

// schemaErrors matches messages that may occur only because a type is known from a schema. Such an expression may still
// have a value: without a schema, types of fields and items are checked during evaluation.
var schemaErrors = regexp.MustCompile(regexp.QuoteMeta(prefix) + `|cannot be range of a comprehension|` +
	`found no matching overload for '((_\?_:_|_==_|_!=_|@in|_\[_\])'|.*(list|map|optional_type)\()`)

// isMistake is false for an error that may occur only because of a schema.
func isMistake(err *common.Error) bool {
	return strings.Contains(err.Message, messageUndefined) || !schemaErrors.MatchString(err.Message)
}

// explain returns a message of one line, with the position, for each error of CEL.
func (e *Environment) explain(source string, errs []*common.Error) []string {
	messages := make([]string, len(errs))
	for i, err := range errs {
		messages[i] = e.explainOne(source, err)
	}

	return slices.Compact(messages)
}

func (e *Environment) explainOne(source string, err *common.Error) string {
	at := point(source, err.Location)
	before, after, _ := strings.Cut(at, "▸")
	message := strings.TrimSuffix(err.Message, " (in container '')")
	kind, name, _ := strings.Cut(strings.TrimSuffix(message, "'"), " '")
	isUndeclared := kind == "undeclared reference to"

	switch {
	case strings.HasPrefix(message, "Syntax error: ") && after == "":
		message = "syntax error: it ends too early"
	case strings.HasPrefix(message, "Syntax error: "):
		message, _, _ = strings.Cut(strings.Replace(message, "S", "s", 1), " expecting ")
		word, _, _ := strings.Cut(after, " ")
		message += idioms[word]
	case isUndeclared && name == rootEach:
		message = "each is there only in a run with forEach, and in no local"
	case isUndeclared && e.declared.Operation && isRoot(name):
		message = missingInOperation[name] + " in an Operation"
	case isUndeclared:
		message += idioms[name]
	case kind == messageUndefined:
		message = e.explainUndefined(name, before, after)
	}

	return fmt.Sprintf("%s, here: %s", message, at)
}

// idioms has idioms of Jinja2 and Python, each with a hint how to write it in CEL.
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

// selected matches the chain of names at the end of a string, as in xr.spec.
var selected = regexp.MustCompile(`[A-Za-z0-9_.?]*$`)

// explainUndefined returns a message about an undefined field, with a suggestion. before and after are the parts of the
// source before and after the position of the error.
func (e *Environment) explainUndefined(name, before, after string) string {
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

	switch {
	case roots[from].none != "":
		return fmt.Sprintf("%s %q%s", roots[from].none, name, suggestion)
	case fields == nil && path[0] == rootRuns && len(path) > 2:
		return fmt.Sprintf("%s '%s'; runs.%s has its members by key, as in runs.%[3]s[\"KEY\"].%s",
			messageUndefined, name, path[1], path[2])
	case fields == nil:
		return messageUndefined + " '" + name + "'"
	}

	// Only the field connectionDetails of the input may use connection details, since they are secret.
	if name == connectionDetails && strings.HasPrefix(from, rootRuns+".") {
		return from + "." + name + " is for connectionDetails alone: content gets secrets by varFiles, which can name the " +
			"Secret of that run: " + from + ".spec.writeConnectionSecretToRef.name"
	}

	return fmt.Sprintf("%s has no field %q%s", from, name, suggestion)
}
