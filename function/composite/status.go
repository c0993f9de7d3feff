package composite

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/schema"
)

// status evaluates the status of the XR. If the API server would refuse it, the fields of this step keep their observed
// values: otherwise core could not write the status at all, not even the conditions that report the problem. A status
// that is one expression may also have conditions.
func (e *evaluator) status(ctx context.Context) (status map[string]any, conditions []Condition) {
	t := e.plan.Status
	if t == nil {
		return nil, nil
	}

	var own, kept map[string]any

	if t.Fields == nil {
		own, kept, conditions = e.wholeStatus(ctx, t)
	} else {
		own, _ = e.field(ctx, t, e.plan.StatusSchema, e.runs.Observed.XR["status"]).(map[string]any)
	}

	status = e.over(kept, own)

	errs := e.refused(status)
	if len(errs) == 0 {
		return status, conditions
	}

	for _, err := range errs {
		path := strings.TrimSuffix("status."+err.Field, ".<nil>")
		e.invalid(path, errors.Errorf("does not fit the XRD: %s", err.ErrorBody()))
	}

	// A field that is no longer in any step is removed, since it may be the reason why the status is refused.
	was := e.runs.Observed.Status()
	if own, kept = split(was, t); t.Fields != nil {
		kept = nil
	}

	if status = e.over(kept, own); len(e.refused(status)) > 0 {
		status = was
	}

	return status, conditions
}

// over returns the status of the XR: kept fields, replaced by those of earlier steps, replaced by those of this step.
func (e *evaluator) over(kept, own map[string]any) map[string]any {
	return manifest.Overlay(manifest.Overlay(kept, e.runs.Observed.EarlierStatus), own)
}

// refused returns why the API server would refuse a status of the XR. It is validated together with the observed fields
// of other steps and field managers. A missing required field counts only if this step has it, since a later step may
// set it.
func (e *evaluator) refused(status map[string]any) field.ErrorList {
	was, _ := e.runs.Observed.XR["status"].(map[string]any)

	_, others := split(was, e.plan.Status)
	if e.plan.Status.Fields == nil {
		maps.DeleteFunc(others, func(name string, _ any) bool { return e.runs.Observed.Status()[name] != nil })
	}

	errs := e.plan.StatusSchema.Refused(manifest.Overlay(others, status), manifest.Overlay(was, nil))

	return slices.DeleteFunc(errs, func(err *field.Error) bool {
		return err.Type == field.ErrorTypeRequired && !has(e.plan.Status, strings.Split(err.Field, "."))
	})
}

// split returns the fields of an object that a template has, and the others.
func split(object map[string]any, t *expression.Template) (own, others map[string]any) {
	own, others = map[string]any{}, map[string]any{}

	for name, v := range object {
		below, ok := t.Fields[name]
		inner, isObject := v.(map[string]any)

		switch {
		case !ok:
			others[name] = v
		case !isObject || below.Fields == nil:
			own[name] = v
		default:
			o, rest := split(inner, below)
			if len(o) > 0 {
				own[name] = o
			}

			if len(rest) > 0 {
				others[name] = rest
			}
		}
	}

	return own, others
}

// has is true for a template with a field at a path.
func has(t *expression.Template, path []string) bool {
	for _, name := range path {
		below, ok := t.Fields[name]
		if !ok {
			return false
		}

		t = below
	}

	return true
}

// wholeStatus evaluates a status that is one expression. If it has no value or a problem, kept is the observed status.
func (e *evaluator) wholeStatus(ctx context.Context,
	t *expression.Template,
) (status, kept map[string]any, conditions []Condition) {
	before := len(e.problems)
	v, ok := e.evaluate(ctx, t)

	if object, is := v.(map[string]any); is {
		conditions = e.reportedConditions(t.Path+".conditions", object["conditions"])
		if len(e.problems) > before {
			conditions = nil
		}

		// A response has conditions in a field of their own.
		object = maps.Clone(object)
		delete(object, "conditions")
		v = object
	}

	v, err := e.plan.StatusSchema.Convert(v)
	if err != nil {
		e.invalid(t.Path, err)
	}

	status, object := v.(map[string]any)
	if v != nil && !object {
		e.invalid(t.Path, errors.New("must be an object"))
	}

	for _, name := range manifest.ReservedStatus {
		if _, ok := status[name]; ok {
			e.invalid(t.Path+"."+name, errors.New("this field is Crossplane's own; leave it out of the value"))
		}
	}

	if !ok || len(e.problems) > before {
		v, _ = e.plan.StatusSchema.Convert(e.runs.Observed.Status())
		kept, _ = v.(map[string]any)

		return nil, kept, conditions
	}

	return status, nil, conditions
}

// field evaluates a field of the status. A field without a value keeps the observed one. The result is nil for a field
// that is left out, and for an object without fields or without a field that the XRD requires.
func (e *evaluator) field(ctx context.Context, t *expression.Template, of *schema.Converter, observed any) any {
	if t.Fields == nil {
		v, ok := e.evaluate(ctx, t)
		v, err := of.Convert(v)

		switch {
		case ok && err == nil:
			return v
		case ok:
			e.invalid(t.Path, err)
		}

		// An observed value that does not fit the schema cannot be kept.
		v, _ = of.Convert(observed)

		return v
	}

	object, required := map[string]any{}, manifest.Set(of.Schema["required"])
	was, _ := observed.(map[string]any)
	complete := true

	for _, name := range manifest.SortedKeys(t.Fields) {
		field, known := t.Fields[name], of.Fields[name]
		if known == nil {
			e.invalid(field.Path, errors.New("the XRD does not declare this field"+schema.Hint(of.Schema, name)))
			continue
		}

		if v := e.field(ctx, field, known, was[name]); v != nil {
			object[name] = v
		} else if required[name] {
			complete = false
		}
	}

	if len(object) == 0 || !complete {
		return nil
	}

	return object
}

// availability returns whether a template can have a value. gone is true if it needs an unwanted run. waiting is true
// while one of its runs or resources is not ready.
func (e *evaluator) availability(ctx context.Context, t *expression.Template) (gone, waiting bool) {
	for name, needed := range t.Runs() {
		gone = gone || needed && e.runs.Instances[name].Unwanted()
		waiting = waiting || !e.runs.Instances[name].Done()
	}

	names, _ := e.plan.ResourcesOf(ctx, e.runs.Data, t)
	for name := range names {
		names[name] = false // A value does not wait for a resource that no step composes.
	}

	return gone, waiting || len(e.runs.Unavailable(names)) > 0
}

// evaluate returns the value of a template; nil if it is left out. It returns false if the template has a problem or
// waits for runs or resources.
func (e *evaluator) evaluate(ctx context.Context, t *expression.Template) (v any, ok bool) {
	gone, waiting := e.availability(ctx, t)
	// The value is removed with the run that it needs.
	if gone {
		return nil, true
	}

	v, _, problems := t.Evaluate(ctx, e.runs.Data) // A value that is left out is nil.
	if len(problems) == 0 {
		return v, true
	}

	e.pending(problems, waiting)

	return nil, false
}

// pending adds problems, without those about pending values while runs or resources are not ready.
func (e *evaluator) pending(problems []expression.Problem, waiting bool) {
	for _, p := range problems {
		if p.Kind != expression.Pending || !waiting {
			e.problems = append(e.problems, p)
		}
	}
}
