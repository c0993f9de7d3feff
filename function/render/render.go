// Package render turns a Plan and the observed state of an XR into what the function
// answers: the runs that are wanted, what becomes of the others, and what the XR itself
// is to have. Each stage is a package, and gets what the one before returns. The function
// calls Render for each request and gives the Result to package report.
package render

import (
	"context"
	"maps"

	"github.com/crossplane-ansible/crossplane-ansible/function/composite"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/observed"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
	"github.com/crossplane-ansible/crossplane-ansible/function/removal"
)

// A Result is what an input becomes for an XR.
type Result struct {
	composite.Desired

	// Runs of the input, each after those that it depends on. AnsibleRuns follow that have to stay for now, although
	// their runs are gone from the Composition.
	Runs []desired.Outcome
	// Removed are the composition resource names of runs that are not wanted any
	// more, and that core removes now.
	Removed []string
	// Requirements are the resources that core is to fetch, by name.
	Requirements map[string]plan.Requirement
	// Usages of runs by those that depend on them, by composition resource
	// name; nil for a Usage that an earlier step composes and that must not be.
	Usages map[string]map[string]any
}

// Render a plan for an XR. For each observed AnsibleRun the result has an object to apply,
// unless the run is not wanted any more: core deletes what it is not given.
func Render(ctx context.Context, p *plan.Plan, state observed.State) Result {
	runs := desired.Render(ctx, p, state)
	removed := removal.Decide(p, runs)

	requirements := runs.Requirements
	maps.Copy(requirements, removed.Requirements)

	return Result{
		Desired:      composite.Evaluate(ctx, p, runs),
		Runs:         removed.Outcomes,
		Removed:      removed.Removed,
		Requirements: requirements,
		Usages:       removed.Usages,
	}
}
