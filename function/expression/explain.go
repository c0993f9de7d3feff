package expression

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common"

	"github.com/crossplane-ansible/crossplane-ansible/function/spelling"
)

// messageUndefined is how CEL begins to say that there is no such field.
const messageUndefined = "undefined field"

// ofSchema are errors that only a schema may bring about. What a list or a map holds is looked at when it is used.
var ofSchema = regexp.MustCompile(regexp.QuoteMeta(prefix) + `|cannot be range of a comprehension|` +
	`found no matching overload for '((_\?_:_|_==_|_!=_|@in|_\[_\])'|.*(list|map|optional_type)\()`)

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
		message = inOperation[name] + " in an Operation"
	case isUndeclared:
		message += idioms[name]
	case kind == messageUndefined:
		message = e.unknown(name, before, after)
	}

	return fmt.Sprintf("%s, here: %s", message, at)
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

// unknown says what is not there, and what may be meant. It is selected from what ends before the point.
func (e *Environment) unknown(name, before, after string) string {
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

	// They are there only where nothing shows them.
	if name == connectionDetails && strings.HasPrefix(from, rootRuns+".") {
		return from + "." + name + " is for connectionDetails alone: content gets secrets by varFiles, which can name the " +
			"Secret of that run: " + from + ".spec.writeConnectionSecretToRef.name"
	}

	return fmt.Sprintf("%s has no field %q%s", from, name, suggestion)
}
