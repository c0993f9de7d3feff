package plan

import (
	"context"
	"maps"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// An Object is an AnsibleRun in JSON with a *Value for each computed field and text. It has no variables.
type Object map[string]any

// A Value is a computed value in an AnsibleRun. If it is optional.none(), it is left out, unless Required or Entry.
type Value struct {
	Template *expression.Template
	// Required is true for a value that cannot be left out.
	Required bool
	// Entry is true for a Required value in an entry of a list: the whole entry is left out with it.
	Entry bool
	// As converts the value to the form of the AnsibleRun. The error says why the value does not fit.
	As func(v any) (any, error)
	// Inventory is set for a value that is the text of an inventory.
	Inventory *Inventory
}

// Templates returns the templates of all computed values.
func (o Object) Templates() []*expression.Template {
	var all []*expression.Template

	o.withValues(func(v *Value) any {
		all = append(all, v.Template)
		return nil
	})

	return all
}

// Evaluate returns the AnsibleRun of a run for the data of an XR. It is a new object, which always has metadata.labels
// and metadata.annotations.
func (run *Run) Evaluate(ctx context.Context, data expression.Data) (map[string]any, []expression.Problem) {
	variables, problems := run.Variables.Evaluate(ctx, data)

	o := run.Object.withValues(func(v *Value) any {
		value, ps := v.evaluate(ctx, data)
		problems = append(problems, ps...)

		return value
	})

	parameters, _ := manifest.Nested(o, "spec", "forProvider").(map[string]any)
	maps.Copy(parameters, variables)

	return o, problems
}

// Unevaluated returns the object with of(template) for each required value, and without other computed values.
func (o Object) Unevaluated(of func(*expression.Template) string) map[string]any {
	return o.withValues(func(v *Value) any {
		if v.Required {
			return of(v.Template)
		}

		return nil
	})
}

// withValues returns a copy of the object with of(value) for each computed value. If of returns nil, the value is left
// out. If of returns the value itself, its entry of a list is left out.
func (o Object) withValues(of func(*Value) any) map[string]any {
	out, _ := replace(map[string]any(o), of).(map[string]any)
	return out
}

// hasEntryValue is true for an entry of a list with a Value that leaves out the entry, see Value.Entry.
func hasEntryValue(entry any) bool {
	if v, ok := entry.(*Value); ok {
		return v.Entry
	}

	object, _ := entry.(map[string]any)
	for _, below := range object {
		if hasEntryValue(below) {
			return true
		}
	}

	return false
}

func replace(v any, of func(*Value) any) any {
	switch v := v.(type) {
	case *Value:
		return of(v)
	case []any:
		out := make([]any, 0, len(v))

		for _, item := range v {
			if item = replace(item, of); !hasEntryValue(item) {
				out = append(out, item)
			}
		}

		if len(out) < len(v) && len(out) == 0 {
			return nil // An empty list is left out, see ansiblerun.Stored.
		}

		return out
	case map[string]any:
		out := make(map[string]any, len(v))

		for _, k := range manifest.SortedKeys(v) {
			if value := replace(v[k], of); value != nil {
				out[k] = value
			}
		}

		return out
	}

	return v
}

// messageNoItems is about a list with literal brackets in which all items are optional.none().
const messageNoItems = `none of its items is set; write xr.spec.?field.orValue("…") for an item ` +
	`with a default, or "${xr.spec.?field.optMap(f, [f])}" in place of the list if it may be missing`

// messageRequired is about a required value that is optional.none().
const messageRequired = `is not set, but the run needs it; write xr.spec.?field.orValue("…") for a default`

// evaluate returns the value for the data of an XR, in the form that withValues expects.
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

// matches is true for a value was that v may have rendered: literal values are equal, and computed values may be.
func matches(v, was any) bool {
	switch v := v.(type) {
	case *Value:
		return (was != nil || !v.Required) && (v.Inventory != nil || v.Template.MayBe(was))
	case []any:
		list, _ := was.([]any)
		// first[n] is true if the entries so far may be the first n items. An entry with an Entry value may be left out.
		first := make([]bool, len(list)+1)
		first[0] = true

		for _, entry := range v {
			for n := len(list); n > 0; n-- {
				first[n] = first[n] && hasEntryValue(entry) || first[n-1] && matches(entry, list[n-1])
			}

			first[0] = first[0] && hasEntryValue(entry)
		}

		return first[len(list)]
	case map[string]any:
		object, _ := was.(map[string]any)

		for k := range manifest.Overlay(v, object) {
			if !matches(v[k], object[k]) {
				return false
			}
		}

		return true
	}

	return manifest.Equal(v, was)
}
