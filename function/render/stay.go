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

	going, blocked := 0, map[string][]string{}
	stuck := true

	dependents, users := r.dependents(), r.users()

	for resource, o := range r.observed.Resources {
		if !isAnsibleRun(o) || wanted[resource] || r.foreign(resource) {
			continue
		}

		going++

		by := dependents[resource]
		if len(by) == 0 {
			// A Usage that is left goes by itself.
			by = users[resource]
			stuck = stuck && len(by) == 0
		}

		if len(by) > 0 {
			blocked[resource] = by
		}

		// Something that stays will be changed such that it does not depend
		// on this one any more.
		stuck = stuck && len(by) > 0 && !slices.ContainsFunc(by, func(d string) bool { return wanted[d] })
	}

	// What is to go as a whole and depends on each other only has no order to
	// go in.
	if stuck && going == len(blocked) {
		return nil
	}

	return blocked
}
