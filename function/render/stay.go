package render

import (
	"maps"
	"slices"
	"strings"
)

// stay lets observed runs that are to go stay while others that are observed
// depend on them. It adds those that are gone from the Composition.
func (r *rendering) stay(runs []Run) []Run {
	leaving := r.leaving(runs)

	for i := range runs {
		by, ok := leaving[runs[i].Resource]
		if !ok {
			continue
		}

		runs[i] = r.leave(runs[i].Name, runs[i].Resource, by)
		delete(leaving, runs[i].Resource)
	}

	for _, resource := range slices.Sorted(maps.Keys(leaving)) {
		runs = append(runs, r.leave(resource, resource, leaving[resource]))
	}

	return runs
}

func (r *rendering) leave(name, resource string, by []string) Run {
	return r.keep(Run{
		Name:     name,
		Resource: resource,
		Reason:   Leaving,
		Messages: []string{"not wanted any more, but has to stay for " + strings.Join(by, ", ")},
	})
}

// leaving returns the composition resource names of the observed AnsibleRuns
// that are to go but cannot yet, each with those that depend on it.
func (r *rendering) leaving(runs []Run) map[string][]string {
	wanted := map[string]bool{}
	for i := range runs {
		wanted[runs[i].Resource] = runs[i].Reason != Skipped
	}

	going, blocked := map[string]bool{}, map[string][]string{}
	dependents, users := r.dependents(), r.users()

	for resource, o := range r.observed.Resources {
		if !isAnsibleRun(o) || wanted[resource] || r.foreign(resource) {
			continue
		}

		going[resource] = true

		by := dependents[resource]
		if len(by) == 0 {
			// A Usage that is left goes by itself.
			by = users[resource]
		}

		if len(by) > 0 {
			blocked[resource] = by
		}
	}

	// What is to go as a whole and depends on each other only has no order to
	// go in.
	for resource := range going {
		if by, ok := blocked[resource]; !ok || slices.ContainsFunc(by, func(d string) bool { return !going[d] }) {
			return blocked
		}
	}

	return nil
}

// removed returns the composition resource names of those observed runs of the
// Composition that nothing keeps. What is gone from it may be a later step's.
func (r *rendering) removed(runs []Run) []string {
	kept := map[string]bool{}
	for i := range runs {
		kept[runs[i].Resource] = runs[i].Desired != nil
	}

	var names []string

	for _, resource := range slices.Sorted(maps.Keys(r.observed.Resources)) {
		o, ok := r.observed.run(resource)
		if ok && !kept[resource] && !isDeleted(o) && !r.observed.Earlier[resource] && r.relations.run(resource) != nil {
			names = append(names, resource)
		}
	}

	return names
}
