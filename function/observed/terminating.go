package observed

import (
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// RequirementTerminating is the start of the name of the requirement for the AnsibleRuns
// of the XR. Their API version follows.
const RequirementTerminating = v1alpha1.Group + "/runs/"

// A Terminating AnsibleRun was composed by the XR and is not observed any more: core
// does not send what it has asked to delete. Its deletion timestamp may still be missing
// here.
type Terminating struct {
	// Resource is the composition resource name that it had.
	Resource string
	Object   map[string]any
}

// String returns the name for a message.
func (d Terminating) String() string { return manifest.Name(d.Object) + ", which is being deleted" }

// Terminating returns the AnsibleRuns of the XR that core has fetched and does not observe
// any more, in the order of their names.
func (o State) Terminating() []Terminating {
	observed := map[any]bool{}
	for _, composed := range o.Resources {
		observed[manifest.UID(composed)] = true
	}

	var all []Terminating

	for _, apiVersion := range []string{ansiblerun.APIVersionCluster, ansiblerun.APIVersionNamespaced} {
		for _, found := range o.Required[RequirementTerminating+apiVersion] {
			// Anybody may write the label.
			if !observed[manifest.UID(found)] && ansiblerun.Is(found) && o.Controls(found) {
				all = append(all, Terminating{Resource: ansiblerun.CompositionResource(found), Object: found})
			}
		}
	}

	slices.SortFunc(all, func(a, b Terminating) int {
		return strings.Compare(manifest.NamespacedName(a.Object), manifest.NamespacedName(b.Object))
	})

	return all
}
