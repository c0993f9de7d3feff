package desired

import (
	"slices"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/observed"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// viewResources returns the resources of other steps, as expressions see them.
func viewResources(p *plan.Plan, o observed.State) map[string]any {
	v := map[string]any{}
	if !p.ReadsResources {
		return v
	}

	for name, r := range o.Resources {
		// An AnsibleRun that no earlier step composes belongs to this step, or did.
		if p.Unreferable(name) != nil || observed.IsUsage(r.Object) || ansiblerun.Is(r.Object) && o.Earlier[name] == nil {
			continue
		}

		// With the whole status of a resource as an input, content would run at each change of it.
		v[name] = observed.Without(observed.ViewObject(r.Object), "status")
	}

	return v
}

// Unavailable returns the resources of other steps for which a run waits, each with the reason. names is true for
// resources that the run needs. It waits for the other ones only if they are observed or an earlier step composes them.
func (r Runs) Unavailable(names map[string]bool) []string {
	var waiting []string

	for _, name := range manifest.SortedKeys(names) {
		_, ok := r.Data.Resources[name]
		o := r.Observed.Resources[name].Object

		switch {
		case !ok && (names[name] || r.Observed.Earlier[name] != nil):
			waiting = append(waiting, "resource "+name+", which is not there yet")
		case !ok:
		case manifest.IsDeleted(o):
			waiting = append(waiting, "resource "+name+", which is being deleted")
		case !r.Observed.Available(name):
			waiting = append(waiting, "resource "+name+" ("+manifest.Text(o, "kind")+"), which is not ready")
		}
	}

	return waiting
}

// unprotected returns problems for the resources that a run refers to, but that no Usage can protect.
func (r *renderer) unprotected(run *plan.Run, names map[string]bool) []expression.Problem {
	if !run.Usages || run.APIVersion() == ansiblerun.APIVersionNamespaced {
		return nil
	}

	var problems []expression.Problem

	for _, name := range manifest.SortedKeys(names) {
		if namespace := manifest.Namespace(r.Observed.Resources[name].Object); namespace != "" {
			problems = append(problems, expression.InvalidAt("usages", errors.Errorf(
				"Crossplane has no Usage of a namespaced object by a cluster-scoped one, so resource %s could be deleted before "+
					"this run; set usages: false if that does no harm", name)))
		}
	}

	return problems
}

// terminatingAs returns the AnsibleRuns with the current or a previous name of a composed resource that are still being
// deleted, including those of earlier XRs. Content must not be applied while it is being removed.
func (r *renderer) terminatingAs(resource string) []string {
	var names []string

	for _, terminating := range slices.Concat(r.Terminating, r.Predecessors) {
		was := ansiblerun.CompositionResource(terminating)
		if was == resource || slices.Contains(r.previousNames[resource], was) {
			names = append(names, observed.Deleting(terminating))
		}
	}

	return names
}
