package removal

import (
	"cmp"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/observed"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// requirements select all AnsibleRuns of the XR, to find those that are being deleted, and
// those to which the XR has lost its references. Core is asked for them only when one is to
// be created or removed, while the user of a Usage is not observed, and while none is.
// Those of earlier XRs of the same name matter to what is created alone.
func (r *remover) requirements() map[string]*fnv1.ResourceSelector {
	all := map[string]*fnv1.ResourceSelector{}

	uid, namespace := r.runs.Observed.UID(), manifest.Namespace(r.runs.Observed.XR)
	if uid == "" || !r.runs.Creating && !r.mayRemove() {
		return all
	}

	for _, apiVersion := range []string{ansiblerun.APIVersionCluster, ansiblerun.APIVersionNamespaced} {
		if namespace != "" && apiVersion == ansiblerun.APIVersionCluster || !r.hasAPIVersion(apiVersion) {
			continue
		}

		of := func(label, value string) *fnv1.ResourceSelector {
			s := plan.Selector(apiVersion, common.KindAnsibleRun, namespace)
			labels := &fnv1.MatchLabels{Labels: map[string]string{label: value}}
			s.Match = &fnv1.ResourceSelector_MatchLabels{MatchLabels: labels}

			return s
		}

		all[observed.RequirementTerminating+apiVersion] = of(ansiblerun.LabelComposite, uid)

		if r.runs.Creating {
			all[observed.RequirementPredecessors+apiVersion] = of(ansiblerun.LabelCompositeName, labelOf(r.runs.Observed.XR))
		}
	}

	return all
}

// labelOf an XR that core writes on what it composes: its name, unless it has the label itself.
func labelOf(xr map[string]any) string {
	return cmp.Or(manifest.NestedText(xr, "metadata", "labels", ansiblerun.LabelCompositeName), manifest.Name(xr))
}

// mayRemove is true when an observed AnsibleRun is not wanted, when the user of an observed
// Usage is not observed, and when no AnsibleRun is: the XR may have lost its references.
func (r *remover) mayRemove() bool {
	users, none := map[string]bool{}, true

	for _, o := range r.runs.Observed.Resources {
		if by, ok := observed.UserOf(o.Object); ok {
			users[by] = true
		}
	}

	for _, o := range r.runs.Observed.Resources {
		if ansiblerun.Is(o.Object) {
			none = false

			delete(users, manifest.NamespacedName(o.Object))
		}
	}

	return none || len(r.unwanted) > 0 || len(users) > 0
}

// hasAPIVersion is true when the Composition has AnsibleRuns of an API version, or some
// are observed.
func (r *remover) hasAPIVersion(apiVersion string) bool {
	for _, run := range r.plan.Runs {
		if run.APIVersion() == apiVersion {
			return true
		}
	}

	for _, o := range r.runs.Observed.Resources {
		if ansiblerun.Is(o.Object) && manifest.Text(o.Object, "apiVersion") == apiVersion {
			return true
		}
	}

	return false
}
