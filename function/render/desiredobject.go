package render

import (
	"context"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
)

// object renders the AnsibleRun.
func (r *renderer) object(ctx context.Context, run *run, resource string, data expression.Data) (map[string]any, []expression.Problem) {
	var problems []expression.Problem

	p := parts{dependsOn: r.dependsOn(run, resource, data), composite: r.Observed.uid()}
	p.vars, p.unsafe, problems = run.evaluate(ctx, data)

	if run.inventory != nil {
		text, ps := run.inventory.evaluate(ctx, data)
		problems = append(problems, ps...)
		p.inventory = text
	}

	object, ps := run.object.evaluate(ctx, data)
	problems = append(problems, ps...)

	return object.with(p), problems
}

// dependsOn returns the composition resource names of what a run is rendered after:
// runs, those that it can do without only while they are wanted, and what other
// steps compose.
func (r *renderer) dependsOn(run *run, resource string, data expression.Data) []string {
	var resources []string

	key, _ := data.Each["key"].(string)

	for _, on := range r.plan.runs {
		if _, ok := run.needs[on.name]; !ok || r.dependency(run, on.name, data).unwanted {
			continue
		}

		resources = append(resources, r.entries(run, on, key)...)
	}

	for name := range r.References[resource] {
		if _, ok := r.Data.Resources[name]; ok {
			resources = append(resources, name)
		}
	}

	slices.Sort(resources)

	return slices.Compact(resources)
}

// entries of another run in AnnotationDependsOn of this one, or of its member with a
// key: by what core calls it, which tells what it is when its run is gone.
func (r *renderer) entries(run, on *run, key string) []string {
	entry := run.entry(on, key)
	if !strings.HasSuffix(entry, allKeys) {
		return []string{r.previousName(entry)}
	}

	entries := []string{entry}

	for resource, was := range r.Renamed {
		if !on.owns(resource) {
			continue
		}

		if set, _, ok := member(was); ok {
			was = set + allKeys
		}

		entries = append(entries, was)
	}

	return entries
}
