package render

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// managerXR is the name under which core applies the status of XRs.
const managerXR = "apiextensions.crossplane.io/composite"

// status evaluates the status of the XR, and what it keeps of the one that it has.
// The problems are those that will not go away when the runs have done their work.
func (r *rendering) status(ctx context.Context) (status, kept map[string]any, problems []expression.Problem) {
	t := r.composition.status
	if t == nil {
		return nil, nil, nil
	}

	if t.Fields() == nil {
		return r.wholeStatus(ctx, t)
	}

	v, problems := r.field(ctx, t, r.observed.XR["status"])
	status, _ = v.(map[string]any)

	return status, nil, problems
}

// wholeStatus evaluates a status that is one value. While that is not to be had, the XR
// keeps what it has.
func (r *rendering) wholeStatus(ctx context.Context, t *expression.Template) (status, kept map[string]any, problems []expression.Problem) {
	v, ok, problems := r.leaf(ctx, t)
	status, object := v.(map[string]any)

	if v != nil && !object {
		problems = append(problems, invalid(t.Path(), errors.New("must be an object")))
	}

	for _, name := range reservedStatus {
		if _, ok := status[name]; ok {
			problems = append(problems, invalid(t.Path()+"."+name, errors.New("this field is Crossplane's own; leave it out of the value")))
		}
	}

	if !ok || len(problems) > 0 {
		v, _ = r.composition.fits[t].of(r.observed.status())
		kept, _ = v.(map[string]any)

		return nil, kept, problems
	}

	return status, nil, nil
}

// status of the XR that core has applied, which goes unless it is applied again:
// nothing of Crossplane's own, and, where managed fields tell, nothing that others
// have written.
func (o Observed) status() map[string]any {
	status, _ := o.XR["status"].(map[string]any)
	kept := maps.Clone(status)
	maps.DeleteFunc(kept, func(name string, _ any) bool { return slices.Contains(reservedStatus[:], name) })

	v, known, _ := unstructured.NestedFieldNoCopy(o.XR, "metadata", FieldManaged)
	if !known {
		return kept
	}

	entries, _ := v.([]any)
	applied := map[string]any{}

	for _, e := range entries {
		entry, _ := e.(map[string]any)
		if manifest.Text(entry, "operation") == "Apply" && manifest.Text(entry, "subresource") == "status" && manifest.Text(entry, "manager") == managerXR {
			applied, _ = manifest.Nested(entry, "fieldsV1", "f:status").(map[string]any)
		}
	}

	maps.DeleteFunc(kept, func(name string, _ any) bool { return applied["f:"+name] == nil })

	return kept
}

// field evaluates a field of the status. One whose value is not to be had keeps
// the value that was observed; a nil value is left out, and so is an object that
// would be nothing without it, or nothing that the XRD allows.
func (r *rendering) field(ctx context.Context, t *expression.Template, observed any) (any, []expression.Problem) {
	if t.Fields() == nil {
		v, ok, problems := r.leaf(ctx, t)
		// What does not fit cannot be kept either.
		if !ok {
			v, _ = r.composition.fits[t].of(observed)
		}

		return v, problems
	}

	var problems []expression.Problem

	object := map[string]any{}
	was, _ := observed.(map[string]any)

	for _, name := range slices.Sorted(maps.Keys(t.Fields())) {
		v, ps := r.field(ctx, t.Fields()[name], was[name])
		problems = append(problems, ps...)

		if v != nil {
			object[name] = v
		}
	}

	if len(object) == 0 && len(t.Fields()) > 0 || !r.composition.fits[t].whole(object) {
		return nil, problems
	}

	return object, problems
}

// prospect of a template outside of runs: gone when a run that it needs is not wanted,
// and waiting while runs, or what earlier steps compose, are not ready.
func (r *rendering) prospect(ctx context.Context, t *expression.Template) (gone, waiting bool) {
	for name, needed := range t.Runs() {
		gone = gone || needed && r.outcomes[name].skipped
		waiting = waiting || !r.outcomes[name].done()
	}

	names, _ := r.refersTo(ctx, r.data, t)
	for name := range names {
		// What nobody composes is not waited for.
		names[name] = false
	}

	return gone, waiting || len(r.unavailable(names)) > 0
}

// leaf evaluates a value. There is none (false) to be had while it has problems, or
// waits for runs or resources; it is nil when it is left out.
func (r *rendering) leaf(ctx context.Context, t *expression.Template) (v any, ok bool, problems []expression.Problem) {
	gone, waiting := r.prospect(ctx, t)
	// What a run said of itself goes with it.
	if gone {
		return nil, true, nil
	}

	v, ok, problems = t.Evaluate(ctx, r.data)

	switch {
	case len(problems) > 0:
		return nil, false, slices.DeleteFunc(problems, func(p expression.Problem) bool {
			return p.Kind == expression.Pending && waiting
		})
	case !ok:
		return nil, true, nil
	}

	v, err := r.composition.fits[t].of(v)
	if err != nil {
		return nil, false, []expression.Problem{invalid(t.Path(), err)}
	}

	return v, true, nil
}
