package render

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// unusable reports runs that cannot hold what they depend on.
func unusable(runs []*run, templates []template) field.ErrorList {
	var errs field.ErrorList

	namespaced := map[string]bool{}
	for _, r := range runs {
		namespaced[r.name] = r.object.apiVersion == apiVersionNamespaced
	}

	for i, r := range runs {
		for _, name := range manifest.SortedKeys(r.needs) {
			if r.usages && namespaced[name] && !namespaced[r.name] {
				errs = append(errs, field.Forbidden(templates[i].path.Child("usages"),
					"Crossplane has no Usage of a namespaced object by a cluster-scoped one, so "+name+" could be deleted before "+r.name+"; set usages: false if that does no harm"))
			}
		}
	}

	return errs
}
