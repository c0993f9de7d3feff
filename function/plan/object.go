package plan

import (
	"context"
	"maps"
	"slices"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// An Object is an AnsibleRun as JSON, with a *Value in the place of each field and text that is computed. Variables are
// not in it.
type Object map[string]any

// A Value is computed for a place in an AnsibleRun.
type Value struct {
	Template *expression.Template
	// Required is true for a value without which what is around it means nothing, and Entry for one without which its
	// entry of a list is left out. Any other one is left out itself when it is optional.none().
	Required, Entry bool
	// As returns the value as the AnsibleRun has it, or why it cannot have it.
	As func(v any) (any, error)
	// Inventory that the value is the text of; nil for any other value.
	Inventory *Inventory
}

// Templates returns the templates of all computed values.
func (o Object) Templates() []*expression.Template {
	var all []*expression.Template

	o.filled(func(v *Value) any {
		all = append(all, v.Template)
		return nil
	})

	return all
}

// Evaluate the AnsibleRun of a run for the data of an XR. It is a new object, which has metadata.labels and
// metadata.annotations.
func (run *Run) Evaluate(ctx context.Context, data expression.Data) (map[string]any, []expression.Problem) {
	variables, problems := run.Variables.Evaluate(ctx, data)

	o := run.Object.filled(func(v *Value) any {
		value, ps := v.evaluate(ctx, data)
		problems = append(problems, ps...)

		return value
	})

	parameters, _ := manifest.Nested(o, "spec", "forProvider").(map[string]any)
	maps.Copy(parameters, variables)

	return o, problems
}

// Unevaluated returns the object with these values in the places of those that are required, and without the others.
func (o Object) Unevaluated(of func(*expression.Template) string) map[string]any {
	return o.filled(func(v *Value) any {
		if v.Required {
			return of(v.Template)
		}

		return nil
	})
}

// filled returns a copy of the object in which computed values are others; nil leaves one out, and the value itself its
// entry.
func (o Object) filled(of func(*Value) any) map[string]any {
	out, _ := fill(map[string]any(o), of).(map[string]any)
	parameters, _ := manifest.Nested(out, "spec", "forProvider").(map[string]any)

	for name, v := range parameters {
		if list, ok := v.([]any); ok && slices.ContainsFunc(list, mayGo) {
			delete(parameters, name) // What is empty is not there, see ansiblerun.Stored.

			if list = slices.DeleteFunc(list, mayGo); len(list) > 0 {
				parameters[name] = list
			}
		}
	}

	return out
}

// mayGo is true for an entry of a list with a value that may leave it out.
func mayGo(entry any) bool {
	if v, ok := entry.(*Value); ok {
		return v.Entry
	}

	object, _ := entry.(map[string]any)
	for _, below := range object {
		if mayGo(below) {
			return true
		}
	}

	return false
}

func fill(v any, of func(*Value) any) any {
	switch v := v.(type) {
	case *Value:
		return of(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = fill(v[i], of)
		}

		return out
	case map[string]any:
		out := make(map[string]any, len(v))

		for _, k := range manifest.SortedKeys(v) {
			if value := fill(v[k], of); value != nil {
				out[k] = value
			}
		}

		return out
	}

	return v
}

// messageNoItems says what to write for a list that is written out, and of which all items are optional.none().
const messageNoItems = `nothing that its items are made of is set; write xr.spec.?field.orValue("…") for an item ` +
	`with a default, or "${xr.spec.?field.optMap(f, [f])}" in place of the list if it may be missing`

// messageRequired says what to write for a value that cannot be left out.
const messageRequired = `is not set, and the run cannot do without; write xr.spec.?field.orValue("…") for a default`

// evaluate a value; nil for one that is left out, and the value itself for one that is so with its entry.
func (v *Value) evaluate(ctx context.Context, data expression.Data) (any, []expression.Problem) {
	if v.Inventory != nil {
		return v.Inventory.Evaluate(ctx, data)
	}

	value, ok, problems := v.Template.Evaluate(ctx, data)

	switch {
	case len(problems) > 0 || !ok && !v.Required:
		return nil, problems
	case !ok && v.Entry:
		return v, nil
	case !ok:
		return nil, []expression.Problem{{Path: v.Template.Path, Kind: expression.NotSet, Message: messageRequired}}
	}

	if list, isList := value.([]any); isList && len(list) == 0 && len(v.Template.Items) > 0 {
		return nil, []expression.Problem{{Path: v.Template.Path, Kind: expression.NotSet, Message: messageNoItems}}
	}

	value, err := v.As(value)
	if err != nil {
		return nil, []expression.Problem{expression.InvalidAt(v.Template.Path, err)}
	}

	return value, nil
}

// couldBe is true for a value that was made of another one, whatever the computed values in that were.
func couldBe(v, was any) bool {
	switch v := v.(type) {
	case *Value:
		return (was != nil || !v.Required) && (v.Inventory != nil || v.Template.MayBe(was))
	case []any:
		list, _ := was.([]any)

		for _, entry := range v {
			if len(list) > 0 && couldBe(entry, list[0]) {
				list = list[1:]
			} else if !mayGo(entry) {
				return false
			}
		}

		return len(list) == 0
	case map[string]any:
		object, _ := was.(map[string]any)

		for k := range manifest.Overlay(v, object) {
			if !couldBe(v[k], object[k]) {
				return false
			}
		}

		return true
	}

	return manifest.Equal(v, was)
}
