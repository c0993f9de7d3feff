package render

import (
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// usages returns a Usage for each AnsibleRun and each composed resource that it was
// rendered after: when both are deleted, the run goes first. They are named by
// composition resource names.
func (r *remover) usages() map[string]map[string]any {
	usages := map[string]map[string]any{}

	use := func(by string, user map[string]any) {
		if !r.protects(by) || r.foreign(by) {
			return
		}

		for _, of := range r.after(by, user) {
			// Two that use each other could never be deleted.
			if slices.Contains(r.after(of, r.runs.Observed.Resources[of]), by) || r.released(by, of) {
				continue
			}

			if u := usage(r.runs.Observed.Resources[of], user); u != nil {
				usages[r.runs.previousName(by)+uses+r.runs.previousName(of)] = u
			}
		}
	}

	// One that is being deleted has its Usage until it is gone.
	for _, d := range r.runs.Terminating {
		use(d.resource, d.object)
	}

	for by, user := range r.runs.Observed.Resources {
		if isAnsibleRun(user) {
			use(by, user)
		}
	}

	// An earlier step does not know what runs of this one ask for.
	for name := range r.runs.Observed.Earlier {
		if by, _, ok := strings.Cut(name, uses); ok && r.plan.runOf(by) != nil && usages[name] == nil {
			usages[name] = nil
		}
	}

	return usages
}

// released is true for what another step composes no more, and a run was rendered
// after, but does not need any more. Core, which does nothing else before it has
// deleted what is not composed any more, may then do so.
func (r *remover) released(by, of string) bool {
	run, reason := r.plan.runOf(by), r.reasons[by]
	if run == nil || reason == "" || reason == Skipped || r.plan.runOf(of) != nil || r.runs.Observed.Earlier[of] || isAnsibleRun(r.runs.Observed.Resources[of]) {
		return false
	}

	if needs, ok := r.runs.References[by]; ok {
		return !needs[of]
	}

	for name, literal := range run.resources() {
		if name == of || !literal {
			return false
		}
	}

	return true
}

// protects is true for runs that hold what they depend on: all that do not say
// otherwise.
func (r *remover) protects(resource string) bool {
	run := r.plan.runOf(resource)
	return run == nil || run.usages
}

// users returns the composition resource names of those that observed Usages say
// use each AnsibleRun. Core would refuse to delete it.
func (r *remover) users() map[string][]string {
	byName, users := map[string][]string{}, map[string][]string{}

	for _, u := range manifest.SortedKeys(r.runs.Observed.Resources) {
		o := r.runs.Observed.Resources[u]
		if isUsage(o) && manifest.NestedText(o, "spec", "of", "kind") == common.KindAnsibleRun {
			of := manifest.NestedText(o, "spec", "of", "resourceRef", "name")
			byName[of] = append(byName[of], u)
		}
	}

	for resource, o := range r.runs.Observed.Resources {
		if name := manifest.Name(o); isAnsibleRun(o) {
			users[resource] = byName[name]
		}
	}

	return users
}
