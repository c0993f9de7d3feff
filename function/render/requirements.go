package render

import (
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// requirements are the AnsibleRuns of the XR, which core is asked for where those
// that are being deleted matter: when one is to be created or removed, and while there
// is a Usage by one.
func (r *remover) requirements() map[string]Requirement {
	uid, namespace := r.runs.Observed.uid(), manifest.Namespace(r.runs.Observed.XR)
	if uid == "" || !r.runs.Creating && !r.removing() {
		return nil
	}

	all := map[string]Requirement{}

	for _, apiVersion := range []string{apiVersionCluster, apiVersionNamespaced} {
		if namespace != "" && apiVersion == apiVersionCluster || !r.hasAPIVersion(apiVersion) {
			continue
		}

		all[requirementTerminating+apiVersion] = Requirement{
			APIVersion: apiVersion, Kind: common.KindAnsibleRun, Namespace: namespace, MatchLabels: map[string]string{LabelComposite: uid},
		}
	}

	return all
}

// removing is true when an AnsibleRun that was observed is to go, or the user of a
// Usage is not observed.
func (r *remover) removing() bool {
	if len(r.unwanted) > 0 {
		return true
	}

	users := map[string]bool{}

	for _, o := range r.runs.Observed.Resources {
		if by, ok := userOf(o); ok {
			users[by] = true
		}
	}

	for _, o := range r.runs.Observed.Resources {
		if len(users) > 0 && isAnsibleRun(o) {
			delete(users, manifest.NamespacedName(o))
		}
	}

	return len(users) > 0
}

// hasAPIVersion is true when there may be AnsibleRuns of an API version: the Composition has
// some, or some were observed.
func (r *remover) hasAPIVersion(apiVersion string) bool {
	for _, run := range r.plan.runs {
		if run.object.apiVersion == apiVersion {
			return true
		}
	}

	for _, o := range r.runs.Observed.Resources {
		if isAnsibleRun(o) && manifest.Text(o, "apiVersion") == apiVersion {
			return true
		}
	}

	return false
}
