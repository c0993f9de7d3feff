package desired

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// adopt renames an AnsibleRun that is observed under a previous name of a composed resource of a run, in r.Observed, if
// none is observed under its current name. taken has the current names of the members of the set, which must not be
// previous names.
func (r *renderer) adopt(ctx context.Context, run *plan.Run, resource string, data expression.Data,
	taken map[string]bool,
) []expression.Problem {
	if run.PreviousNames == nil {
		return nil
	}

	if _, ok := r.Observed.Resources[resource]; ok {
		return nil
	}

	found, problems := r.observedPreviousNames(ctx, run, resource, data, taken)

	switch {
	case len(problems) > 0:
		r.Unresolved[run] = true
		return problems
	case len(found) > 1:
		r.Unresolved[run] = true
		return []expression.Problem{
			expression.InvalidAt("previousNames",
				errors.Errorf("the XR has %s, of which only one can be the run", strings.Join(found, " and "))),
		}
	case len(found) == 0:
		return nil
	}

	was := found[0]
	r.Renamed[resource] = was

	r.Observed.Resources = maps.Clone(r.Observed.Resources)
	r.Observed.Resources[resource] = r.Observed.Resources[was]
	delete(r.Observed.Resources, was)

	return nil
}

// observedPreviousNames returns the previous names of a composed resource under which an AnsibleRun is observed.
func (r *renderer) observedPreviousNames(ctx context.Context, run *plan.Run, resource string, data expression.Data,
	taken map[string]bool,
) ([]string, []expression.Problem) {
	v, _, problems := run.PreviousNames.Evaluate(ctx, data)
	if len(problems) > 0 {
		return nil, problems
	}

	var found []string

	names, _ := v.([]any)
	for i := range names {
		name, ok := names[i].(string)
		if !ok {
			return nil, []expression.Problem{expression.InvalidAt("previousNames", errors.New("must be names"))}
		}

		if name == resource {
			continue
		}

		if taken[name] || r.isTaken(name, run) {
			return nil, []expression.Problem{
				expression.InvalidAt("previousNames", errors.Errorf("%s is a run of the Composition", name)),
			}
		}

		r.previousNames[resource] = append(r.previousNames[resource], name)

		if _, ok := r.Observed.Run(name); ok && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}

	return found, nil
}

// isTaken is true for the composition resource name of another run.
func (r *renderer) isTaken(resource string, by *plan.Run) bool {
	return slices.ContainsFunc(r.plan.Runs, func(run *plan.Run) bool { return run != by && run.Owns(resource) })
}

// PreviousName returns the composition resource name in core of a composed resource. For an adopted AnsibleRun it is
// the previous name, for others the current one.
func (r Runs) PreviousName(resource string) string {
	if was, ok := r.Renamed[resource]; ok {
		return was
	}

	return resource
}
