package expression

import (
	"context"
	"regexp"
	"strings"
)

// Data has the values of the variables of expressions. They are JSON with float64 or int64 numbers, a Partial for some
// objects, and an Unknown for withheld values. Evaluation does not change them.
type Data struct {
	// XR is the observed XR: an object.
	XR any
	// Runs are the observed runs by name. A run with forEach is a map of its members by key. Strings that are not UTF-8
	// are bytes.
	Runs map[string]any
	// Required are the required resources that core has returned, by name: an object, or a list of objects.
	Required map[string]any
	// Resources are the observed resources of other steps by composition resource name.
	Resources map[string]any
	// Each has the key and the value of an item of forEach.
	Each map[string]any
	// Environment is the merged data of the EnvironmentConfigs.
	Environment map[string]any
	// Context is the context of the pipeline.
	Context map[string]any
	// Locals are the values of the locals of the input.
	Locals *LocalValues
	// Budget is the budget for this XR. If it is nil, only the work of each expression is limited.
	Budget *Budget

	// exact is true for the evaluation of locals: integers of the result are int64, and doubles float64.
	exact bool
}

// Has is true if a value exists at a path that Defaulted returned. It is true for a name in a list, which is an item
// and not a field, as in "a" in xr.spec.zones.
func (d Data) Has(ctx context.Context, path []string) bool {
	at := roots[path[0]].of(&d)

	if path[0] == rootLocals {
		l := d.Locals.local(ctx, path[1])
		if !l.ok {
			return false
		}

		at, path = l.value, path[1:]
	}

	for _, name := range path[1:] {
		if p, ok := at.(Partial); ok {
			at = p.Fields
		}

		if _, isList := at.([]any); isList {
			return true
		}

		fields, _ := at.(map[string]any)

		v, ok := fields[name]
		if !ok {
			return false
		}

		at = v
	}

	return true
}

// A Kind is the kind of a problem, in the form of the reason of a condition.
type Kind string

// Kinds of problems.
const (
	// Pending values do not exist yet, but may exist later without an edit of the XR.
	Pending Kind = "ValuePending"
	// Withheld values exist, but are not shown since they contain a secret.
	Withheld Kind = "OutputWithheld"
	// NotSet values are missing in the XR, and its author can set them.
	NotSet Kind = "ValueNotSet"
	// Invalid values result from an error, or have a type or size that is not allowed.
	Invalid Kind = "InvalidValue"
)

// A Problem is the reason why a template has no value.
type Problem struct { //nolint:errname // It is an error only inside of an evaluation.
	// Path is the path of the template.
	Path string
	Kind Kind
	// Message explains the problem in one line.
	Message string
	// Plain is true if the message of an Invalid value has no part of any value, and cannot disclose a secret.
	Plain bool
}

// relative matches the relative path at the start of an error, with a colon after each element, as in ".a: [0]: ".
var relative = regexp.MustCompile(`^((\[\d+\]|\.[\w-]+)*: )+`)

// InvalidAt returns a problem of kind Invalid at a path. A relative path at the start of the error is appended to it.
func InvalidAt(path string, err error) Problem {
	at := relative.FindString(err.Error())

	return Problem{
		Path: path + strings.ReplaceAll(at, ": ", ""), Kind: Invalid, Message: strings.TrimPrefix(err.Error(), at),
	}
}

// Error returns the message, for a value in the data that expressions cannot use.
func (p Problem) Error() string { return p.Message }

// String returns the problem with its path in one line.
func (p Problem) String() string { return p.Path + ": " + p.Message }

// A local is the result for a local: a value if ok, none for optional.none(), or a problem.
type local struct {
	value   any
	ok      bool
	problem *Problem
}
