package removal

import (
	"slices"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/observed"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// relations resolve the entries of AnnotationDependsOn to observed resources. Resources are
// known by their composition resource names.
type relations struct {
	// named are the resources that an entry means: one AnsibleRun, all members of a set,
	// or what another step composes.
	named map[string][]string
	// formerlyNamed are the members of a set that are observed under the name of a set
	// before it, by the resource name of the set. An entry for a key of the set may mean
	// any of them.
	formerlyNamed map[string][]string
	// formerSets are the names of sets of which other sets have adopted members.
	formerSets map[string]bool
}

// relationsOf returns the relations of what is observed of an XR.
func relationsOf(p *plan.Plan, runs desired.Runs) relations {
	rel := relations{named: map[string][]string{}, formerlyNamed: map[string][]string{}, formerSets: map[string]bool{}}

	for _, resource := range manifest.SortedKeys(runs.Observed.Resources) {
		if observed.IsUsage(runs.Observed.Resources[resource].Object) {
			continue
		}

		rel.named[resource] = []string{resource}

		if set, _, ok := plan.Member(resource); ok {
			rel.named[set+ansiblerun.AllKeys] = append(rel.named[set+ansiblerun.AllKeys], resource)

			if run := p.RunOf(resource); run != nil && run.Name != set {
				rel.formerlyNamed[run.Name] = append(rel.formerlyNamed[run.Name], resource)
			}
		}
	}

	// Annotations that are older than the adoption have the previous names.
	for resource, was := range runs.Renamed {
		rel.named[was] = append(rel.named[was], resource)

		if set, _, ok := plan.Member(was); ok {
			rel.named[set+ansiblerun.AllKeys] = append(rel.named[set+ansiblerun.AllKeys], resource)
			rel.formerSets[set] = true
		}
	}

	return rel
}

// resourcesFor returns the observed resources that an entry of AnnotationDependsOn means.
func (rel relations) resourcesFor(entry string) []string {
	named := rel.named[entry]

	if set, key, ok := plan.Member(entry); ok && (len(named) == 0 || key == "") {
		return slices.Concat(named, rel.formerlyNamed[set])
	}

	return named
}

// detached is true for an AnsibleRun that goes before one that was rendered after it. Either it makes room for a run
// that the other one waits for. Or it is a member of a set, its item is gone, and the run that depends on the set is
// Ready: that run was rendered without the item.
func (r *remover) detached(of, by string) bool {
	if slices.ContainsFunc(r.replacing[of], func(run *plan.Run) bool { return r.awaits(by, run) }) {
		return true
	}

	set, _, ok := plan.Member(of)
	if !ok || r.reasons[by] != desired.Ready || r.plan.RunOf(of) == nil && !r.relations.formerSets[set] {
		return false
	}

	reason, wanted := r.reasons[of]

	return !wanted || reason == desired.Skipped
}

// awaits is true for an AnsibleRun that waits for a run, or for others that need it. So does one
// that stays because its run is not known before.
func (r *remover) awaits(resource string, on *plan.Run) bool {
	run := r.plan.RunOf(resource)

	return run != nil && r.reasons[resource] == desired.DependencyNotReady && r.needing(on)[run.Name] ||
		r.knownAfter(on, resource) != nil
}

// knownAfter returns a run that an AnsibleRun may be, with previous names that are not known before another run is
// there, or others that need it; nil for none.
func (r *remover) knownAfter(on *plan.Run, resource string) *plan.Run {
	for _, run := range r.plan.Runs {
		if !r.runs.Unresolved[run] || !r.mayBecome(resource, run) {
			continue
		}

		for _, t := range append(run.ForEach.Templates(), run.When, run.PreviousNames) {
			for name := range t.Runs() {
				if name == on.Name || r.needing(on)[name] {
					return run
				}
			}
		}
	}

	return nil
}

// needing returns the names of the runs that need a run, or others that do.
func (r *remover) needing(on *plan.Run) map[string]bool {
	if all, ok := r.waitingFor[on]; ok {
		return all
	}

	all := map[string]bool{}
	r.waitingFor[on] = all

	// Each run comes after those that it needs.
	for _, run := range r.plan.Runs {
		for name := range run.Needs {
			all[run.Name] = all[run.Name] || name == on.Name || all[name]
		}
	}

	return all
}

// dependencies returns the observed resources that an AnsibleRun was rendered after.
func (r *remover) dependencies(resource string, o map[string]any) []string {
	var on []string

	for _, entry := range ansiblerun.DependsOn(o) {
		for _, other := range r.relations.resourcesFor(entry) {
			if other != resource && !r.detached(other, resource) {
				on = append(on, other)
			}
		}
	}

	return on
}

// dependents returns the AnsibleRuns that depend on each observed resource, as they were
// applied or as they are wanted now. AnsibleRuns that are being deleted are among them. Those
// of earlier steps are not: such a step knows better what they need, and has kept that.
func (r *remover) dependents() map[string][]string {
	all := map[string][]string{}

	for _, resource := range manifest.SortedKeys(r.runs.Observed.Resources) {
		o, ok := r.runs.Observed.Run(resource)
		if !ok || r.foreign(resource) {
			continue
		}

		on := r.dependencies(resource, o)

		if run := r.plan.RunOf(resource); run != nil {
			_, key, _ := plan.Member(resource)

			for _, other := range r.plan.Runs {
				if run.Needs[other.Name] {
					on = append(on, r.relations.resourcesFor(run.Entry(other, key))...)
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

	for _, terminating := range r.runs.Terminating {
		for _, other := range r.dependencies(ansiblerun.CompositionResource(terminating), terminating) {
			all[other] = append(all[other], observed.Deleting(terminating))
		}
	}

	return all
}
