package render

import (
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// requirementTerminating is what core calls the AnsibleRuns of the XR, followed by their
// API version.
const requirementTerminating = v1alpha1.Group + "/runs/"

// A terminating AnsibleRun was composed by the XR and is not observed any more: core
// forgets what it deletes at once. That it is being deleted may not be seen yet.
type terminating struct {
	// resource is the composition resource name that it had.
	resource string
	object   map[string]any
}

// String says which one it is.
func (d terminating) String() string { return manifest.Name(d.object) + ", which is being deleted" }

// terminating returns those AnsibleRuns that core has found for the XR and does not
// observe, in the order of their names.
func (o Observed) terminating() []terminating {
	observed := map[any]bool{}
	for _, composed := range o.Resources {
		observed[manifest.UID(composed)] = true
	}

	var all []terminating

	for _, apiVersion := range []string{apiVersionCluster, apiVersionNamespaced} {
		for _, found := range o.Required[requirementTerminating+apiVersion] {
			// Anybody may write the label.
			if !observed[manifest.UID(found)] && isAnsibleRun(found) && o.controls(found) {
				all = append(all, terminating{resource: compositionResource(found), object: found})
			}
		}
	}

	slices.SortFunc(all, func(a, b terminating) int {
		return strings.Compare(manifest.NamespacedName(a.object), manifest.NamespacedName(b.object))
	})

	return all
}
