package render

import (
	"slices"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// relations tell which of the observed AnsibleRuns depend on each other. All are
// known by their composition resource names.
type relations struct {
	// named are those that an entry of AnnotationDependsOn means: one, or all
	// members of a set, or what another step composes.
	named map[string][]string
	// unknown are members of a set by earlier names, which may be any of it.
	unknown map[string][]string
}

// relationsOf the AnsibleRuns that were observed.
func relationsOf(plan *Plan, runs Runs) relations {
	rel := relations{named: map[string][]string{}, unknown: map[string][]string{}}

	for _, resource := range manifest.SortedKeys(runs.Observed.Resources) {
		if isUsage(runs.Observed.Resources[resource]) {
			continue
		}

		rel.named[resource] = []string{resource}

		if set, _, ok := member(resource); ok {
			rel.named[set+allKeys] = append(rel.named[set+allKeys], resource)

			if run := plan.runOf(resource); run != nil && run.resource != set {
				rel.unknown[run.resource] = append(rel.unknown[run.resource], resource)
			}
		}
	}

	// What others were rendered after may have been called otherwise then.
	for resource, was := range runs.Renamed {
		rel.named[was] = append(rel.named[was], resource)

		if set, _, ok := member(was); ok {
			rel.named[set+allKeys] = append(rel.named[set+allKeys], resource)
		}
	}

	return rel
}

// of returns what is observed of an entry of AnnotationDependsOn.
func (rel relations) of(entry string) []string {
	named := rel.named[entry]

	if set, key, ok := member(entry); ok && (len(named) == 0 || key == "") {
		return slices.Concat(named, rel.unknown[set])
	}

	return named
}

// detached is true for an item of a set that is gone, when one that depends on the
// set is Ready as it is rendered now: that is without the item.
func (r *remover) detached(of, by string) bool {
	if _, _, ok := member(of); !ok || r.reasons[by] != Ready {
		return false
	}

	reason, wanted := r.reasons[of]
	run := r.plan.runOf(of)

	return run != nil && run.each != nil && (!wanted || reason == Skipped)
}

// after returns the observed resources that an AnsibleRun was rendered after.
func (r *remover) after(resource string, o map[string]any) []string {
	var on []string

	for _, entry := range dependsOn(o) {
		for _, other := range r.relations.of(entry) {
			if other != resource && !r.detached(other, resource) {
				on = append(on, other)
			}
		}
	}

	return on
}

// dependents returns those AnsibleRuns that depend on each observed one, as they were
// rendered, or as they are wanted now: until they are gone.
func (r *remover) dependents() map[string][]string {
	all := map[string][]string{}

	for _, resource := range manifest.SortedKeys(r.runs.Observed.Resources) {
		if !isAnsibleRun(r.runs.Observed.Resources[resource]) {
			continue
		}

		on := r.after(resource, r.runs.Observed.Resources[resource])

		if run := r.plan.runOf(resource); run != nil {
			_, key, _ := member(resource)

			for _, other := range r.plan.runs {
				if run.needs[other.name] {
					on = append(on, r.relations.of(run.entry(other, key))...)
				}
			}
		}

		slices.Sort(on)

		for _, other := range slices.Compact(on) {
			if other != resource && !r.detached(other, resource) {
				all[other] = append(all[other], resource)
			}
		}
	}

	for _, d := range r.runs.Terminating {
		for _, other := range r.after(d.resource, d.object) {
			all[other] = append(all[other], d.String())
		}
	}

	return all
}
