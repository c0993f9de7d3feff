package render

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// Kinds of Crossplane that keep what is used from being deleted.
// https://docs.crossplane.io/latest/managed-resources/usages/
const (
	apiVersionProtection = "protection.crossplane.io/v1beta1"
	kindUsage            = "Usage"
	kindClusterUsage     = "ClusterUsage"
)

// uses stands between two names in the composition resource name of a Usage.
const uses = " uses "

// maxUsages of an XR. Each is an object of its own, and two sets that depend on
// each other as a whole have as many as there are pairs.
const maxUsages = 2000

// crowd says whether a number of runs, of one run of the input, takes more Usages
// than there can be.
func (r *rendering) crowd(run *run, runs int) []expression.Problem {
	if !run.usages {
		return nil
	}

	on := 0

	for name := range run.needs {
		switch {
		case r.outcomes[name].skipped:
		case run.pairs[name]:
			on++
		default:
			on += len(r.outcomes[name].runs)
		}
	}

	on += len(run.resources())

	if r.pairs+runs*on > maxUsages {
		return []expression.Problem{invalid("usages", errors.Errorf(
			"%d runs that depend on %d take %d Usages, and there are %d for an XR at most; refer to the member of the same key alone, as in runs.name[each.key], or set usages: false: they may be deleted in any order then", runs, on, runs*on, maxUsages))}
	}

	r.pairs += runs * on

	return nil
}

// unusable reports runs that cannot hold what they depend on.
func unusable(runs []*run, templates []template) field.ErrorList {
	var errs field.ErrorList

	namespaced := map[string]bool{}
	for _, r := range runs {
		namespaced[r.name] = r.object.apiVersion == apiVersionNamespaced
	}

	for i, r := range runs {
		for _, name := range manifest.SortedKeys(r.needs) {
			if r.usages && namespaced[name] && !namespaced[r.name] {
				errs = append(errs, field.Forbidden(templates[i].path.Child("usages"),
					"Crossplane has no Usage of a namespaced object by a cluster-scoped one, so "+name+" could be deleted before "+r.name+"; set usages: false if that does no harm"))
			}
		}
	}

	return errs
}

// usages returns a Usage for each AnsibleRun and each composed resource that it was
// rendered after: when both are deleted, the run goes first. They are named by
// composition resource names.
func (r *rendering) usages() map[string]map[string]any {
	usages := map[string]map[string]any{}

	use := func(by string, user map[string]any) {
		if !r.holds(by) || r.foreign(by) {
			return
		}

		for _, of := range r.after(by, user) {
			// Two that use each other could never be deleted.
			if slices.Contains(r.after(of, r.observed.Resources[of]), by) || r.released(by, of) {
				continue
			}

			if u := usage(r.observed.Resources[of], user); u != nil {
				usages[r.calls(by)+uses+r.calls(of)] = u
			}
		}
	}

	// One that is being deleted has its Usage until it is gone.
	for _, d := range r.departing {
		use(d.resource, d.object)
	}

	for by, user := range r.observed.Resources {
		if isAnsibleRun(user) {
			use(by, user)
		}
	}

	// An earlier step does not know what runs of this one ask for.
	for name := range r.observed.Earlier {
		if by, _, ok := strings.Cut(name, uses); ok && r.composition.run(by) != nil && usages[name] == nil {
			usages[name] = nil
		}
	}

	return usages
}

// released is true for what another step composes no more, and a run was rendered
// after, but does not need any more. Core, which does nothing else before it has
// deleted what is not composed any more, may then do so.
func (r *rendering) released(by, of string) bool {
	run, reason := r.composition.run(by), r.became[by]
	if run == nil || reason == "" || reason == Skipped || r.composition.run(of) != nil || r.observed.Earlier[of] || isAnsibleRun(r.observed.Resources[of]) {
		return false
	}

	if needs, ok := r.refers[by]; ok {
		return !needs[of]
	}

	for name, literal := range run.resources() {
		if name == of || !literal {
			return false
		}
	}

	return true
}

// holds is true for runs that hold what they depend on: all that do not say
// otherwise.
func (r *rendering) holds(resource string) bool {
	run := r.composition.run(resource)
	return run == nil || run.usages
}

// usage of a composed resource by an AnsibleRun; nil when there can be none: a
// ClusterUsage tells of cluster-scoped objects only.
func usage(of, by map[string]any) map[string]any {
	namespace := manifest.Namespace(by)
	used := manifest.Namespace(of)

	ofName := manifest.Name(of)
	byName := manifest.Name(by)

	if namespace == "" && used != "" || ofName == "" || byName == "" {
		return nil
	}

	kind, metadata := kindClusterUsage, map[string]any{}
	ref := map[string]any{"name": ofName}

	if namespace != "" {
		kind = kindUsage
		metadata["namespace"] = namespace
	}

	// What is cluster scoped is in the namespace "", and not in that of the Usage.
	if used != namespace {
		ref["namespace"] = used
	}

	return map[string]any{
		"apiVersion": apiVersionProtection,
		"kind":       kind,
		"metadata":   metadata,
		"spec": map[string]any{
			"of":             map[string]any{"apiVersion": of["apiVersion"], "kind": of["kind"], "resourceRef": ref},
			"by":             map[string]any{"apiVersion": by["apiVersion"], "kind": by["kind"], "resourceRef": map[string]any{"name": byName}},
			"replayDeletion": true,
		},
	}
}

// isUsage is true for Usages of any scope.
func isUsage(o map[string]any) bool {
	return manifest.Text(o, "apiVersion") == apiVersionProtection && (manifest.Text(o, "kind") == kindUsage || manifest.Text(o, "kind") == kindClusterUsage)
}

// userOf a Usage: the namespace and the name of the AnsibleRun that uses another one;
// false for anything else.
func userOf(u map[string]any) (string, bool) {
	if !isUsage(u) {
		return "", false
	}

	return manifest.Namespace(u) + "/" + manifest.NestedText(u, "spec", "by", "resourceRef", "name"), manifest.NestedText(u, "spec", "by", "kind") == common.KindAnsibleRun
}

// users returns the composition resource names of those that observed Usages say
// use each AnsibleRun. Core would refuse to delete it.
func (r *rendering) users() map[string][]string {
	byName, users := map[string][]string{}, map[string][]string{}

	for _, u := range manifest.SortedKeys(r.observed.Resources) {
		o := r.observed.Resources[u]
		if isUsage(o) && manifest.NestedText(o, "spec", "of", "kind") == common.KindAnsibleRun {
			of := manifest.NestedText(o, "spec", "of", "resourceRef", "name")
			byName[of] = append(byName[of], u)
		}
	}

	for resource, o := range r.observed.Resources {
		if name := manifest.Name(o); isAnsibleRun(o) {
			users[resource] = byName[name]
		}
	}

	return users
}
