package removal

import (
	"slices"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/observed"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// relations resolve the entries of AnnotationDependsOn to observed resources, by composition resource name.
type relations struct {
	// named has the resources of each entry: one AnsibleRun, all members of a set, or a resource of another step.
	named map[string][]string
	// formerlyNamed has, by the name of a set, its members that are observed under the name of a previous set. An entry
	// for a key of the set may stand for any of them.
	formerlyNamed map[string][]string
	// formerSets has the names of previous sets with adopted members.
	formerSets map[string]bool
}

// relationsOf returns the relations of the observed resources of an XR.
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

	// Annotations from before the adoption have the previous names.
	for resource, was := range runs.Renamed {
		rel.named[was] = append(rel.named[was], resource)

		if set, _, ok := plan.Member(was); ok {
			rel.named[set+ansiblerun.AllKeys] = append(rel.named[set+ansiblerun.AllKeys], resource)
			rel.formerSets[set] = true
		}
	}

	return rel
}

// resourcesFor returns the observed resources of an entry of AnnotationDependsOn.
func (rel relations) resourcesFor(entry string) []string {
	named := rel.named[entry]

	if set, key, ok := plan.Member(entry); ok && (len(named) == 0 || key == "") {
		return slices.Concat(named, rel.formerlyNamed[set])
	}

	return named
}

// detached is true when the AnsibleRun of can be removed before the AnsibleRun by, although by was rendered as its
// dependent. There are two cases:
//   - A run for which by waits is created only when of is gone.
//   - of is a member of a set without its item, and by, which depends on the set, is Ready, so it was rendered without
//     the item.
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

// awaits is true for an AnsibleRun that waits for a run, or for transitive dependents of the run. It is also true for
// an AnsibleRun that stays until the previous names of another run are known, which depend on the run.
func (r *remover) awaits(resource string, on *plan.Run) bool {
	run := r.plan.RunOf(resource)

	return run != nil && r.reasons[resource] == desired.DependencyNotReady && r.dependentRuns(on)[run.Name] ||
		r.knownAfter(on, resource) != nil
}

// knownAfter returns a run with previous names that depend on the run on, or on its transitive dependents, and of which
// the AnsibleRun may have a previous name; nil for none.
func (r *remover) knownAfter(on *plan.Run, resource string) *plan.Run {
	for _, run := range r.plan.Runs {
		if !r.runs.Unresolved[run] || !r.mayBecome(resource, run) {
			continue
		}

		for _, t := range append(run.ForEach.Templates(), run.When, run.PreviousNames) {
			for name := range t.Runs() {
				if name == on.Name || r.dependentRuns(on)[name] {
					return run
				}
			}
		}
	}

	return nil
}

// dependentRuns returns the names of the transitive dependents of a run.
func (r *remover) dependentRuns(on *plan.Run) map[string]bool {
	if all, ok := r.dependentRunsOf[on]; ok {
		return all
	}

	all := map[string]bool{}
	r.dependentRunsOf[on] = all

	// The plan has each run after its dependencies.
	for _, run := range r.plan.Runs {
		for name := range run.Needs {
			all[run.Name] = all[run.Name] || name == on.Name || all[name]
		}
	}

	return all
}

// dependencies returns the observed resources in AnnotationDependsOn of an AnsibleRun, without detached ones.
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

// dependents returns the AnsibleRuns that depend on each observed resource, by their annotations or by the plan. It
// includes AnsibleRuns that are being deleted. It leaves out those of earlier steps, which keep their dependencies
// themselves.
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
