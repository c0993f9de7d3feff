package removal

import (
	"slices"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/compile"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/observed"
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
func relationsOf(plan *compile.Plan, runs desired.Runs) relations {
	rel := relations{named: map[string][]string{}, unknown: map[string][]string{}}

	for _, resource := range manifest.SortedKeys(runs.Observed.Resources) {
		if observed.IsUsage(runs.Observed.Resources[resource]) {
			continue
		}

		rel.named[resource] = []string{resource}

		if set, _, ok := compile.Member(resource); ok {
			rel.named[set+compile.AllKeys] = append(rel.named[set+compile.AllKeys], resource)

			if run := plan.RunOf(resource); run != nil && run.Resource != set {
				rel.unknown[run.Resource] = append(rel.unknown[run.Resource], resource)
			}
		}
	}

	// What others were rendered after may have been called otherwise then.
	for resource, was := range runs.Renamed {
		rel.named[was] = append(rel.named[was], resource)

		if set, _, ok := compile.Member(was); ok {
			rel.named[set+compile.AllKeys] = append(rel.named[set+compile.AllKeys], resource)
		}
	}

	return rel
}

// of returns what is observed of an entry of AnnotationDependsOn.
func (rel relations) of(entry string) []string {
	named := rel.named[entry]

	if set, key, ok := compile.Member(entry); ok && (len(named) == 0 || key == "") {
		return slices.Concat(named, rel.unknown[set])
	}

	return named
}

// detached is true for a member of a set whose item is gone, once the run that depends on
// the set is Ready as it is rendered now: without the item.
func (r *remover) detached(of, by string) bool {
	if _, _, ok := compile.Member(of); !ok || r.reasons[by] != desired.Ready {
		return false
	}

	reason, wanted := r.reasons[of]
	run := r.plan.RunOf(of)

	return run != nil && run.ForEach != nil && (!wanted || reason == desired.Skipped)
}

// after returns the observed resources that an AnsibleRun was rendered after.
func (r *remover) after(resource string, o map[string]any) []string {
	var on []string

	for _, entry := range ansiblerun.DependsOn(o) {
		for _, other := range r.relations.of(entry) {
			if other != resource && !r.detached(other, resource) {
				on = append(on, other)
			}
		}
	}

	return on
}

// dependents returns the AnsibleRuns that depend on each observed resource, as they were
// applied or as they are wanted now. Those that are being deleted are among them.
func (r *remover) dependents() map[string][]string {
	all := map[string][]string{}

	for _, resource := range manifest.SortedKeys(r.runs.Observed.Resources) {
		if !ansiblerun.Is(r.runs.Observed.Resources[resource]) {
			continue
		}

		on := r.after(resource, r.runs.Observed.Resources[resource])

		if run := r.plan.RunOf(resource); run != nil {
			_, key, _ := compile.Member(resource)

			for _, other := range r.plan.Runs {
				if run.Needs[other.Name] {
					on = append(on, r.relations.of(run.Entry(other, key))...)
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
		for _, other := range r.after(d.Resource, d.Object) {
			all[other] = append(all[other], d.String())
		}
	}

	return all
}
