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

// status evaluates the status of the XR. A status that the API server would refuse leaves the fields of
// this step as they are: core could not even say so. A status that is one expression may bring conditions.
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

	// A field that no step has any more goes, or it could have the status refused for ever.
	was := e.runs.Observed.Status()
	if own, kept = split(was, t); t.Fields != nil {
		kept = nil
	}

	if status = e.over(kept, own); len(e.refused(status)) > 0 {
		status = was
	}

	return status, conditions
}

// over returns a status with what earlier steps say over what is only kept, and what is the step's own over both.
func (e *evaluator) over(kept, own map[string]any) map[string]any {
	return manifest.Overlay(manifest.Overlay(kept, e.runs.Observed.EarlierStatus), own)
}

// refused returns why the API server would refuse a status for the XR. What others have written there,
// and what other steps say, stays as it is; later steps may have fields that are required.
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

// split an object into the fields that a template has, and the others.
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

// has is true for a template that has a field.
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

// wholeStatus evaluates a status that is one expression. While it has no value, the XR keeps
// its present status.
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

		// Crossplane keeps conditions apart from the fields of the status.
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

// field evaluates a field of the status. A field that has no value now keeps the observed
// one. The result is nil for a field that is left out, and for an object that has no fields
// left, or lacks one that the XRD requires.
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

// availability of the values of a template. Gone is true when a run that the template needs
// is not wanted. Waiting is true while runs, or resources of earlier steps, are not ready.
func (e *evaluator) availability(ctx context.Context, t *expression.Template) (gone, waiting bool) {
	for name, needed := range t.Runs() {
		gone = gone || needed && e.runs.Instances[name].Unwanted()
		waiting = waiting || !e.runs.Instances[name].Done()
	}

	names, _ := e.plan.ResourcesOf(ctx, e.runs.Data, t)
	for name := range names {
		// A resource that no step composes is not waited for.
		names[name] = false
	}

	return gone, waiting || len(e.runs.Unavailable(names)) > 0
}

// evaluate a template. It is false while the template has problems, or waits for runs or resources. The value is nil
// when it is left out.
func (e *evaluator) evaluate(ctx context.Context, t *expression.Template) (v any, ok bool) {
	gone, waiting := e.availability(ctx, t)
	// A value that needs a run is removed with the run.
	if gone {
		return nil, true
	}

	v, _, problems := t.Evaluate(ctx, e.runs.Data) // One that is left out is nil.
	if len(problems) == 0 {
		return v, true
	}

	e.pending(problems, waiting)

	return nil, false
}

// pending problems are none while runs or resources are still to bring the values.
func (e *evaluator) pending(problems []expression.Problem, waiting bool) {
	for _, p := range problems {
		if p.Kind != expression.Pending || !waiting {
			e.problems = append(e.problems, p)
		}
	}
}
