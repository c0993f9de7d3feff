package render

import (
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// requirementDeparting is what core calls the AnsibleRuns of the XR, followed by their
// API version.
const requirementDeparting = v1alpha1.Group + "/runs/"

// A departing AnsibleRun was composed by the XR and is not observed any more: core
// forgets what it deletes at once. That it is being deleted may not be seen yet.
type departing struct {
	// resource is the composition resource name that it had.
	resource string
	object   map[string]any
}

// String says which one it is.
func (d departing) String() string { return manifest.Name(d.object) + ", which is being deleted" }

// departed returns those AnsibleRuns that core has found for the XR and does not
// observe, in the order of their names.
func (r *rendering) departed() []departing {
	observed := map[any]bool{}
	for _, o := range r.observed.Resources {
		observed[manifest.UID(o)] = true
	}

	var all []departing

	for _, apiVersion := range []string{apiVersionCluster, apiVersionNamespaced} {
		for _, o := range r.observed.Required[requirementDeparting+apiVersion] {
			// Anybody may write the label.
			if !observed[manifest.UID(o)] && isAnsibleRun(o) && r.observed.controls(o) {
				all = append(all, departing{resource: compositionResource(o), object: o})
			}
		}
	}

	slices.SortFunc(all, func(a, b departing) int {
		return strings.Compare(manifest.NamespacedName(a.object), manifest.NamespacedName(b.object))
	})

	return all
}

// predecessors of a run that is to be created: those of its name that are departing.
// Nothing is applied while it is being removed.
func (r *rendering) predecessors(resource string) []string {
	var names []string

	for _, d := range r.departing {
		if d.resource == resource {
			names = append(names, d.String())
		}
	}

	return names
}

// ask core for the AnsibleRuns of the XR where those that are being deleted matter:
// when one is to be created or to go, and while there is a Usage by one.
func (r *rendering) ask(result Result) {
	uid := r.observed.uid()
	if uid == "" || !r.arriving && !r.changing(result.Runs) {
		return
	}

	for _, apiVersion := range []string{apiVersionCluster, apiVersionNamespaced} {
		namespace := manifest.Namespace(r.observed.XR)
		if namespace != "" && apiVersion == apiVersionCluster || !r.knows(apiVersion) {
			continue
		}

		result.Requirements[requirementDeparting+apiVersion] = Requirement{
			APIVersion: apiVersion, Kind: common.KindAnsibleRun, Namespace: namespace, MatchLabels: map[string]string{LabelComposite: uid},
		}
	}
}

// changing is true when an AnsibleRun that was observed is to go, or the user of a
// Usage is not observed.
func (r *rendering) changing(runs []Run) bool {
	if len(r.going(runs)) > 0 {
		return true
	}

	users := map[string]bool{}

	for _, o := range r.observed.Resources {
		if by, ok := userOf(o); ok {
			users[by] = true
		}
	}

	for _, o := range r.observed.Resources {
		if len(users) > 0 && isAnsibleRun(o) {
			delete(users, manifest.NamespacedName(o))
		}
	}

	return len(users) > 0
}

// knows is true when there may be AnsibleRuns of an API version: the Composition has
// some, or some were observed.
func (r *rendering) knows(apiVersion string) bool {
	for _, run := range r.composition.runs {
		if run.object.apiVersion == apiVersion {
			return true
		}
	}

	for _, o := range r.observed.Resources {
		if isAnsibleRun(o) && manifest.Text(o, "apiVersion") == apiVersion {
			return true
		}
	}

	return false
}

// controls is true for what the XR is the controller of.
func (o Observed) controls(composed map[string]any) bool {
	list, _ := manifest.Nested(composed, "metadata", "ownerReferences").([]any)

	return slices.ContainsFunc(list, func(v any) bool {
		m, _ := v.(map[string]any)
		return m["controller"] == true && manifest.Text(m, "uid") == o.uid()
	})
}

// uid of the XR.
func (o Observed) uid() string { return manifest.UID(o.XR) }

// compositionResource is the composition resource name of a composed resource.
func compositionResource(o map[string]any) string {
	return manifest.Annotation(o, "crossplane.io/composition-resource-name")
}
