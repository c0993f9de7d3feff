package compile

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// unusable reports runs for which Crossplane can have no Usages of what they depend on.
func unusable(runs []*Run, templates []template) field.ErrorList {
	var errs field.ErrorList

	namespaced := map[string]bool{}
	for _, r := range runs {
		namespaced[r.Name] = r.Object.APIVersion == ansiblerun.APIVersionNamespaced
	}

	for i, r := range runs {
		for _, name := range manifest.SortedKeys(r.Needs) {
			if r.Usages && namespaced[name] && !namespaced[r.Name] {
				errs = append(errs, field.Forbidden(templates[i].path.Child("usages"),
					"Crossplane has no Usage of a namespaced object by a cluster-scoped one, so "+name+" could be deleted before "+r.Name+"; set usages: false if that does no harm"))
			}
		}
	}

	return errs
}
