package removal

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/observed"
)

// usages returns a Usage for each AnsibleRun and each of its dependencies, by composition resource name: when both are
// deleted, the AnsibleRun is deleted first. A nil Usage removes one of an earlier step. New AnsibleRuns get their
// Usages in the same request, since each change of the set of composed resources makes core write the XR three times.
func (r *remover) usages(outcomes []desired.Outcome) map[string]map[string]any {
	usages := map[string]map[string]any{}

	use := func(by string, user map[string]any) {
		if !r.protects(by) || r.foreign(by) {
			return
		}

		for _, of := range r.dependencies(by, user) {
			// Two resources with Usages of each other could never be deleted.
			if slices.Contains(r.dependencies(of, r.runs.Observed.Resources[of].Object), by) || r.released(by, of) {
				continue
			}

			name := r.runs.PreviousName(by) + usesSeparator + r.runs.PreviousName(of)

			// A run that is no longer in the Composition may have had usages: false.
			if r.plan.RunOf(by) == nil && r.runs.Observed.Resources[name].Object == nil {
				continue
			}

			if u := usage(name, r.runs.Observed.Resources[of].Object, user); u != nil {
				usages[name] = u
			}
		}
	}

	// An AnsibleRun that is being deleted needs its Usages until it is gone.
	for _, terminating := range r.runs.Terminating {
		use(ansiblerun.CompositionResource(terminating), terminating)
	}

	for by, user := range r.runs.Observed.Resources {
		if ansiblerun.Is(user.Object) {
			use(by, user.Object)
		}
	}

	for by, user := range r.created(outcomes) {
		use(by, user)
	}

	// An earlier step with this function composes Usages for all observed AnsibleRuns, also for those of this step,
	// since it does not know which ones these need.
	for name := range r.runs.Observed.Earlier {
		if by, _, ok := strings.Cut(name, usesSeparator); ok && r.plan.RunOf(by) != nil && usages[name] == nil {
			usages[name] = nil
		}
	}

	return usages
}

// maxName is the longest name that created gives, in bytes.
const maxName = 63

// created returns the new AnsibleRuns with dependencies, and sets their metadata.name in the outcomes. Their Usages
// refer to them by name, before core would generate one. The names have the form of those of core.
func (r *remover) created(outcomes []desired.Outcome) map[string]map[string]any {
	all := map[string]map[string]any{}
	uid, prefix, namespace := r.runs.Observed.UID(), labelOf(r.runs.Observed.XR), manifest.Namespace(r.runs.Observed.XR)

	for i := range outcomes {
		out := &outcomes[i]
		if uid == "" || out.Desired == nil || r.runs.Observed.Resources[out.Resource].Object != nil ||
			len(r.dependencies(out.Resource, out.Desired)) == 0 {
			continue
		}

		hash := sha256.Sum256([]byte(uid + out.Resource))
		suffix := "-" + hex.EncodeToString(hash[:6])

		name := strings.TrimRight(prefix[:min(len(prefix), maxName-len(suffix))], "-.") + suffix

		metadata := map[string]any{"name": name}
		if namespace != "" {
			metadata["namespace"] = namespace
		}

		out.Desired = manifest.Overlay(out.Desired, map[string]any{"metadata": metadata})
		all[out.Resource] = out.Desired
	}

	return all
}

// released is true for a resource that no step composes any more, and that an AnsibleRun, its former dependent, does
// not need any more. Core deletes such a resource before it applies anything, and a Usage of it would block that.
func (r *remover) released(by, of string) bool {
	run, reason := r.plan.RunOf(by), r.reasons[by]
	if run == nil || reason == "" || reason == desired.Skipped || r.plan.RunOf(of) != nil ||
		r.runs.Observed.Earlier[of] != nil || ansiblerun.Is(r.runs.Observed.Resources[of].Object) {
		return false
	}

	if needs, ok := r.runs.References[by]; ok {
		return !needs[of]
	}

	for name, literal := range run.Resources() {
		if name == of || !literal {
			return false
		}
	}

	return true
}

// protects is true for an AnsibleRun that has Usages of its dependencies: all but those of runs with usages: false.
func (r *remover) protects(resource string) bool {
	run := r.plan.RunOf(resource)
	return run == nil || run.Usages
}

// observedUsages returns the observed Usages of each AnsibleRun, both by composition resource name. The API server
// refuses to delete an AnsibleRun with a Usage.
func (r *remover) observedUsages() map[string][]string {
	byName, users := map[string][]string{}, map[string][]string{}

	for _, u := range manifest.SortedKeys(r.runs.Observed.Resources) {
		o := r.runs.Observed.Resources[u].Object
		if observed.IsUsage(o) && manifest.NestedText(o, "spec", "of", "kind") == common.KindAnsibleRun {
			of := manifest.NestedText(o, "spec", "of", "resourceRef", "name")
			byName[of] = append(byName[of], u)
		}
	}

	for resource, o := range r.runs.Observed.Resources {
		if ansiblerun.Is(o.Object) {
			users[resource] = byName[manifest.Name(o.Object)]
		}
	}

	return users
}

// usesSeparator separates the two resources in the composition resource name of a Usage: "app uses db".
const usesSeparator = " uses "

// annotationDetails is the annotation of a Usage with its reason.
const annotationDetails = "crossplane.io/usage-details"

// usage returns the Usage of a composed resource by an AnsibleRun. It returns nil if one of them has no name, or if
// only the resource is namespaced: a ClusterUsage refers to cluster-scoped objects only.
func usage(reason string, of, by map[string]any) map[string]any {
	namespace := manifest.Namespace(by)
	used := manifest.Namespace(of)

	ofName := manifest.Name(of)
	byName := manifest.Name(by)

	if namespace == "" && used != "" || ofName == "" || byName == "" {
		return nil
	}

	// Without the annotation, core would add it, which is another write.
	kind, metadata := observed.KindClusterUsage, map[string]any{"annotations": map[string]any{annotationDetails: reason}}
	ref := map[string]any{"name": ofName}

	if namespace != "" {
		kind = observed.KindUsage
		metadata["namespace"] = namespace
	}

	// Without a namespace, the reference means the namespace of the Usage. For a cluster-scoped object it must be "".
	if used != namespace {
		ref["namespace"] = used
	}

	return map[string]any{
		"apiVersion": observed.APIVersionProtection,
		"kind":       kind,
		"metadata":   metadata,
		"spec": map[string]any{
			"of": map[string]any{"apiVersion": of["apiVersion"], "kind": of["kind"], "resourceRef": ref},
			"by": map[string]any{
				"apiVersion": by["apiVersion"], "kind": by["kind"],
				"resourceRef": map[string]any{"name": byName},
			},
			"reason":         reason,
			"replayDeletion": true,
		},
	}
}
