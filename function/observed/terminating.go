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

// A Terminating AnsibleRun was composed by the XR and is not observed any more: core
// does not send what it has asked to delete. Its deletion timestamp may still be missing
// here.
type Terminating struct {
	// Resource is the composition resource name that it had.
	Resource string
	Object   map[string]any
}

// String returns what the run is Called, and why the AnsibleRun cannot go yet.
func (d Terminating) String() string {
	name := cmp.Or(manifest.Annotation(d.Object, ansiblerun.AnnotationRun), d.Resource)
	return Called(name, d.Resource) + ", which " + ansiblerun.Deleting(d.Object)
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

// Terminating returns the AnsibleRuns of the XR that core has fetched and does not observe
// any more, in the order of their names.
func (o State) Terminating() []Terminating {
	// Any client may write the label.
	return o.terminating(RequirementTerminating, o.controls)
}

// Predecessors returns the AnsibleRuns of earlier XRs of the same name that core has fetched, in the order of their
// names. Kubernetes deletes an object when its controller is gone.
func (o State) Predecessors() []Terminating {
	return o.terminating(RequirementPredecessors, o.controlledBefore)
}

// terminating returns the AnsibleRuns that core has fetched for a requirement, does not observe, and
// that are wanted, in the order of their names.
func (o State) terminating(requirement string, wanted func(map[string]any) bool) []Terminating {
	observed := map[any]bool{}
	for _, composed := range o.Resources {
		observed[manifest.UID(composed.Object)] = true
	}

	var all []Terminating

	for _, apiVersion := range []string{ansiblerun.APIVersionCluster, ansiblerun.APIVersionNamespaced} {
		for _, found := range o.Required[requirement+apiVersion] {
			if !observed[manifest.UID(found)] && ansiblerun.Is(found) && wanted(found) {
				all = append(all, Terminating{Resource: ansiblerun.CompositionResource(found), Object: found})
			}
		}
	}

	slices.SortFunc(all, func(a, b Terminating) int {
		return strings.Compare(manifest.NamespacedName(a.Object), manifest.NamespacedName(b.Object))
	})

	return all
}
