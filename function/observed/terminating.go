package observed

import (
	"cmp"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// RequirementTerminating is the start of the name of the requirement for the AnsibleRuns
// of the XR. Their API version follows.
const RequirementTerminating = v1alpha1.Group + "/runs/"

// RequirementPredecessors is the start of the name of the requirement for the AnsibleRuns of XRs that
// had the name of the XR. Their API version follows.
const RequirementPredecessors = v1alpha1.Group + "/predecessors/"

// Deleting returns what the run of an AnsibleRun is Called, and why the AnsibleRun cannot go yet.
func Deleting(o map[string]any) string {
	resource := ansiblerun.CompositionResource(o)
	name := cmp.Or(manifest.Annotation(o, ansiblerun.AnnotationRun), resource)

	return Called(name, resource) + ", which " + ansiblerun.Deleting(o)
}

// IsLost is true for an AnsibleRun of the XR that core has found, does not observe, and has not deleted: before it
// deletes one, it takes its label away. An XR loses its AnsibleRuns when it is replaced by one without references.
func (o State) IsLost(found map[string]any) bool {
	_, known := o.Resources[ansiblerun.CompositionResource(found)]

	return !known && ansiblerun.Is(found) && o.controls(found) && !manifest.IsDeleted(found) &&
		manifest.NestedText(found, "metadata", "labels", ansiblerun.LabelCompositeName) != ""
}

// HasLost is true if the XR has lost its reference to any of its resources.
func (o State) HasLost() bool {
	for _, r := range o.Resources {
		if r.Lost {
			return true
		}
	}

	return false
}

// Terminating returns the AnsibleRuns of the XR that core has fetched and does not observe any more, in the order of
// their names: core does not send what it has asked to delete. Their deletion timestamps may still be missing.
func (o State) Terminating() []map[string]any {
	// Any client may write the label.
	return o.terminating(RequirementTerminating, o.controls)
}

// Predecessors returns the AnsibleRuns of earlier XRs of the same name that core has fetched, in the order of their
// names. Kubernetes deletes an object when its controller is gone.
func (o State) Predecessors() []map[string]any {
	return o.terminating(RequirementPredecessors, o.controlledBefore)
}

// terminating returns the AnsibleRuns that core has fetched for a requirement, does not observe, and
// that are wanted, in the order of their names.
func (o State) terminating(requirement string, wanted func(map[string]any) bool) []map[string]any {
	observed := map[any]bool{}
	for _, composed := range o.Resources {
		observed[manifest.UID(composed.Object)] = true
	}

	var all []map[string]any

	for _, apiVersion := range []string{ansiblerun.APIVersionCluster, ansiblerun.APIVersionNamespaced} {
		for _, found := range o.Required[requirement+apiVersion] {
			if !observed[manifest.UID(found)] && ansiblerun.Is(found) && wanted(found) {
				all = append(all, found)
			}
		}
	}

	slices.SortFunc(all, func(a, b map[string]any) int {
		return strings.Compare(manifest.NamespacedName(a), manifest.NamespacedName(b))
	})

	return all
}
