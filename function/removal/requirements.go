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

// requirements returns selectors for all AnsibleRuns of the XR by its UID, to find those that are being deleted and
// those to which the XR has lost its references. It requires them only when an AnsibleRun is created or may be removed.
// When one is created, it also requires the AnsibleRuns of earlier XRs with the same name.
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

// labelOf returns the value of LabelCompositeName on resources of an XR: its own label, or else its name.
func labelOf(xr map[string]any) string {
	return cmp.Or(manifest.NestedText(xr, "metadata", "labels", ansiblerun.LabelCompositeName), manifest.Name(xr))
}

// mayRemove is true when an observed AnsibleRun is unwanted. It is also true when the XR may have lost its references:
// no AnsibleRun is observed, or a Usage is observed without the AnsibleRun that is its user.
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

// hasAPIVersion is true when the plan renders AnsibleRuns of an API version, or some are observed.
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
