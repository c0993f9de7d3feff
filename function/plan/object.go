package plan

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// An Object is an AnsibleRun, with a *Value in the place of each field and text that is computed.
type Object struct {
	APIVersion     string
	Metadata, Spec map[string]any
}

// A Value is computed for a place in an AnsibleRun.
type Value struct {
	Template *expression.Template
	// Required is true for a value without which what is around it means nothing. Any other one is left out when it is
	// optional.none().
	Required bool
	// As returns the value as the AnsibleRun has it, or why it cannot have it.
	As func(v any) (any, error)
}

// Computed are the parts of an AnsibleRun that depend on the XR.
type Computed struct {
	Vars, UnsafeVars map[string]any
	Inventory        string
	DependsOn        []string
	// Secret for connection details, as a reference; nil for none.
	Secret map[string]any
	// CompositeUID is the uid of the XR.
	CompositeUID string
	// InUse is true for an AnsibleRun with LabelInUse.
	InUse bool
}

// With returns the AnsibleRun with what is computed, and an annotation of what
// it was rendered after. The object itself stays as it is.
func (o Object) With(p Computed) map[string]any {
	parameters, labels, annotations := map[string]any{}, map[string]any{}, map[string]any{}
	spec := map[string]any{"forProvider": parameters}

	if len(p.Vars) > 0 {
		parameters["vars"] = p.Vars
	}

	if len(p.UnsafeVars) > 0 {
		parameters["unsafeVars"] = p.UnsafeVars
	}

	if p.Inventory != "" {
		parameters["inventoryInline"] = p.Inventory
	}

	if p.Secret != nil {
		spec["writeConnectionSecretToRef"] = p.Secret
	}

	if p.CompositeUID != "" {
		labels[ansiblerun.LabelComposite] = p.CompositeUID
	}

	if p.InUse {
		labels[ansiblerun.LabelInUse] = "true"
	}

	if len(p.DependsOn) > 0 {
		annotations[ansiblerun.AnnotationDependsOn] = strings.Join(p.DependsOn, ",")
	}

	metadata := manifest.Overlay(o.Metadata, map[string]any{"labels": labels, "annotations": annotations})
	maps.DeleteFunc(metadata, func(_ string, v any) bool { return manifest.Equal(v, nil) })

	return map[string]any{
		"apiVersion": o.APIVersion,
		"kind":       common.KindAnsibleRun,
		"metadata":   metadata,
		"spec":       manifest.Overlay(o.Spec, spec),
	}
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

// Evaluate all computed values.
func (o Object) Evaluate(ctx context.Context, data expression.Data) (Object, []expression.Problem) {
	var problems []expression.Problem

	o = o.filled(func(v *Value) any {
		value, ps := v.evaluate(ctx, data)
		problems = append(problems, ps...)

		return value
	})

	return o, problems
}

// Unevaluated returns the object with these values in the places of those that are required, and without the others.
func (o Object) Unevaluated(of func(*expression.Template) string) Object {
	return o.filled(func(v *Value) any {
		if v.Required {
			return of(v.Template)
		}

		return nil
	})
}

// filled returns a copy of the object in which computed values are others; nil leaves one out.
func (o Object) filled(of func(*Value) any) Object {
	o.Metadata, _ = fill(o.Metadata, of).(map[string]any)
	o.Spec, _ = fill(o.Spec, of).(map[string]any)

	return o
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

// evaluate a value; nil for one that is left out.
func (v *Value) evaluate(ctx context.Context, data expression.Data) (any, []expression.Problem) {
	value, ok, problems := v.Template.Evaluate(ctx, data)
	if len(problems) > 0 || !ok && !v.Required {
		return nil, problems
	}

	if list, isList := value.([]any); isList && len(list) == 0 && len(v.Template.Items()) > 0 {
		return nil, []expression.Problem{{Path: v.Template.Path(), Kind: expression.NotSet, Message: messageNoItems}}
	}

	value, err := v.As(value)
	if err != nil {
		return nil, []expression.Problem{expression.InvalidAt(v.Template.Path(), err)}
	}

	return value, nil
}

// couldBe is true for a value that was made of another one, whatever the computed values in that were.
func couldBe(v, was any) bool {
	switch v := v.(type) {
	case *Value:
		return (was != nil || !v.Required) && v.Template.MayBe(was)
	case []any:
		list, _ := was.([]any)
		return slices.EqualFunc(v, list, couldBe)
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
