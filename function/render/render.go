package render

import (
	"context"
	"maps"
)

// A Result is what an input becomes for an XR.
type Result struct {
	Composite

	// Runs of the input, each after those that it depends on, and then those
	// that left the Composition but have to stay for a while.
	Runs []Outcome
	// Removed are the composition resource names of runs that are not wanted any
	// more, and that core removes now.
	Removed []string
	// Requirements are the resources that core is to fetch.
	Requirements map[string]Requirement
	// Usages of runs by those that depend on them, by composition resource
	// name; nil for one of an earlier step that is not to be.
	Usages map[string]map[string]any
}

// Render a plan for an XR. An AnsibleRun that was observed is always in the result
// with something to apply, unless it is not wanted any more.
func Render(ctx context.Context, plan *Plan, observed Observed) Result {
	runs := RunsOf(ctx, plan, observed)
	removal := RemovalOf(plan, runs)
	composite := CompositeOf(ctx, plan, runs)

	requirements := runs.Requirements
	maps.Copy(requirements, removal.Requirements)

	return Result{
		Composite: composite, Runs: removal.Outcomes, Removed: removal.Removed, Usages: removal.Usages, Requirements: requirements,
	}
}
