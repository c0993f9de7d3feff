package compile

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
)

// mistyped reports a computed value that can never be of one of these types. The schema of
// the input checks literal values.
func mistyped(path *field.Path, t *expression.Template, types ...expression.Type) field.ErrorList {
	if !t.Computed() || t.Is(types...) {
		return nil
	}

	names := make([]string, len(types))
	for i := range types {
		names[i] = string(types[i])
	}

	message := "must be of type " + strings.Join(names, " or ") + ", and is of type " + string(t.Type())
	if len(types) == 1 && types[0] == expression.String && t.Type() != expression.Object && t.Type() != expression.Array {
		message += "; write string(…) around it"
	}

	return field.ErrorList{field.Invalid(path, t.String(), message)}
}

// Invalid returns a problem of kind Invalid at a path, with the text of an error.
func Invalid(path string, err error) expression.Problem {
	return expression.Problem{Path: path, Kind: expression.Invalid, Message: err.Error()}
}
