package observed

import (
	"cmp"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// RequirementTerminating begins the name of the requirement for the AnsibleRuns of the XR. Their API version follows.
const RequirementTerminating = v1alpha1.Group + "/runs/"

// RequirementPredecessors begins the name of the requirement for the AnsibleRuns of earlier XRs with the same name.
// Their API version follows.
const RequirementPredecessors = v1alpha1.Group + "/predecessors/"

// Deleting returns the name of the run of an AnsibleRun, see Called, and why it is not deleted yet, see
// ansiblerun.Deleting.
func Deleting(o map[string]any) string {
	resource := ansiblerun.CompositionResource(o)
	name := cmp.Or(manifest.Annotation(o, ansiblerun.AnnotationRun), resource)

	return Called(name, resource) + ", which " + ansiblerun.Deleting(o)
}

// IsLost is true for a required AnsibleRun of the XR to which the XR has lost its reference, for example when kubectl
// replace writes the XR without references. Core has not deleted the AnsibleRun, since it removes its label before
// that.
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

// Terminating returns the AnsibleRuns of the XR that are being deleted, sorted by name. Core does not send them as
// observed resources, but they are among the required ones. They may have no deletion timestamp yet.
func (o State) Terminating() []map[string]any {
	// Any client may write the label.
	return o.terminating(RequirementTerminating, o.controls)
}

// Predecessors returns the required AnsibleRuns of earlier XRs with the same name, sorted by name. The garbage
// collector of Kubernetes deletes them.
func (o State) Predecessors() []map[string]any {
	return o.terminating(RequirementPredecessors, o.controlledBefore)
}

// terminating returns the AnsibleRuns in the answers to a requirement that are not observed, and for which wanted is
// true, sorted by name.
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
