package render

import (
	"context"
	"maps"
	"slices"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
)

// status evaluates the status of the XR. The problems are those that will not
// go away when the runs have done their work.
func (r *rendering) status(ctx context.Context) (map[string]any, []expression.Problem) {
	if r.composition.status == nil {
		return nil, nil
	}

	v, problems := r.field(ctx, r.composition.status, r.observed.XR[fieldStatus])
	status, _ := v.(map[string]any)

	return status, problems
}

// field evaluates a field of the status. One whose value is not to be had keeps
// the value that was observed; a nil value is left out, and so is an object that
// would be nothing without it, or nothing that the XRD allows.
func (r *rendering) field(ctx context.Context, t *expression.Template, observed any) (any, []expression.Problem) {
	if t.Fields() == nil {
		return r.leaf(ctx, t, observed)
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

func (r *rendering) leaf(ctx context.Context, t *expression.Template, observed any) (any, []expression.Problem) {
	waiting := false

	for name, needed := range t.Runs() {
		// What a run said of itself goes with it.
		if needed && r.outcomes[name].skipped {
			return nil, nil
		}

		waiting = waiting || !r.outcomes[name].done()
	}

	v, ok, problems := t.Evaluate(ctx, r.data)
	if len(problems) == 0 && ok {
		fitting, err := r.composition.fits[t].of(v)
		if err == nil {
			return fitting, nil
		}

		// What is not declared cannot be kept either.
		if r.composition.fits[t].unknown {
			observed = nil
		}

		return observed, []expression.Problem{invalid(t.Path(), err)}
	}

	if len(problems) == 0 {
		return nil, nil
	}

	problems = slices.DeleteFunc(problems, func(p expression.Problem) bool {
		return p.Kind == expression.Pending && waiting
	})

	return observed, problems
}
