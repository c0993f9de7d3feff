package expression

import (
	"context"
	"regexp"
	"strings"
)

// Data is what expressions see. Its values are JSON, with numbers float64 or
// int64 and objects that may be a Partial, and are not changed.
type Data struct {
	// XR as observed: an object.
	XR any
	// Runs by name, those that were observed. What is made by forEach is a map
	// by key. Texts of other encodings than UTF-8 are bytes.
	Runs map[string]any
	// Required resources by name, those that core has answered: an object, or a
	// list of objects.
	Required map[string]any
	// Resources that other steps compose, by their composition resource names, those
	// that were observed.
	Resources map[string]any
	// Each is the item that a run of forEach is made of: key and value.
	Each map[string]any
	// Environment is the merged data of the EnvironmentConfigs.
	Environment map[string]any
	// Context of the pipeline.
	Context map[string]any
	// Locals are the values that the input has names for.
	Locals *LocalValues
	// Budget of the work for this XR. Without one, only the work of each
	// expression is limited.
	Budget *Budget

	// exact values have int64 for integers, and float64 for doubles only.
	exact bool
}

// Has is true for what is at a path that Defaulted returned. What is asked for in a list is an
// item, and no field.
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

// A Kind of problem.
type Kind string

// Kinds of problems.
const (
	// Pending values are not there yet, but may be later.
	Pending Kind = "ValuePending"
	// Withheld values are there, and must not be shown.
	Withheld Kind = "OutputWithheld"
	// NotSet values were left out by the author of the XR.
	NotSet Kind = "ValueNotSet"
	// Invalid values cannot be computed, or not be used.
	Invalid Kind = "InvalidValue"
)

// A Problem is why a value could not be computed.
type Problem struct { //nolint:errname // It is an error within an evaluation alone.
	// Path of the value.
	Path string
	// Kind of the problem.
	Kind Kind
	// Message says what is wrong, in one line.
	Message string
	// Plain is true when the message of an Invalid value cannot show anything of
	// any value.
	Plain bool
}

// relative begins the text of an error about what is below a value: each part of its path is followed by a colon.
var relative = regexp.MustCompile(`^((\[\d+\]|\.[\w-]+)*: )+`)

// InvalidAt returns a problem of kind Invalid at a path, or at what the text of an error says is below it.
func InvalidAt(path string, err error) Problem {
	at := relative.FindString(err.Error())

	return Problem{
		Path: path + strings.ReplaceAll(at, ": ", ""), Kind: Invalid, Message: strings.TrimPrefix(err.Error(), at),
	}
}

// Error says what is wrong, of a value that is there and that no expression can use.
func (p Problem) Error() string { return p.Message }

// String returns the problem in one line.
func (p Problem) String() string {
	return p.Path + ": " + p.Message
}

// A local has a value (true), is left out, or has a problem.
type local struct {
	value   any
	ok      bool
	problem *Problem
}
