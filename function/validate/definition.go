package validate

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// API groups of Crossplane.
const (
	// groupCrossplane is that of Compositions and XRDs.
	groupCrossplane = "apiextensions.crossplane.io"
	// groupKubernetes is that of CRDs.
	groupKubernetes = "apiextensions.k8s.io"
	// groupOperations is that of Operations.
	groupOperations = "ops.crossplane.io"
)

// operation stands for the version of an XR where there is none.
var operation = version{operation: true} //nolint:gochecknoglobals // Go has no constant structs.

// A version of an XRD or a CRD.
type version struct {
	schema.GroupVersionKind

	// operation is true for Operations, which have no XR.
	operation bool

	// namespaced is the scope of its XRs.
	namespaced bool
	// legacy XRs publish connection details themselves.
	legacy bool
	// openAPI is the schema of its XRs; nil when there is none.
	openAPI map[string]any
}

// versionsOf an XRD or a CRD. It copes with XRDs that the API server refuses.
func versionsOf(d document) []version {
	// Until v2 of the API XRs were cluster-scoped unless they said otherwise.
	scope := "Namespaced"
	if strings.HasSuffix(manifest.Text(d.object, "apiVersion"), "/v1") {
		scope = "LegacyCluster"
	}

	scope = cmp.Or(manifest.NestedText(d.object, "spec", "scope"), scope)
	list, _ := manifest.Nested(d.object, "spec", "versions").([]any)
	all := make([]version, len(list))

	for i := range list {
		v, _ := list[i].(map[string]any)
		all[i] = version{namespaced: scope == "Namespaced", legacy: scope == "LegacyCluster"}
		all[i].Group, all[i].Version = manifest.NestedText(d.object, "spec", "group"), manifest.Text(v, "name")
		all[i].Kind = manifest.NestedText(d.object, "spec", "names", "kind")
		all[i].openAPI, _ = manifest.Nested(v, "schema", "openAPIV3Schema").(map[string]any)
	}

	return all
}

// lookup the version that is meant by an apiVersion and a kind.
func lookup(all []version, apiVersion, kind string) (*version, error) {
	of := schema.FromAPIVersionAndKind(apiVersion, kind)

	var others []string

	for i := range all {
		if all[i].GroupVersionKind == of {
			return &all[i], nil
		}

		if all[i].GroupKind() == of.GroupKind() {
			others = append(others, all[i].Version)
		}
	}

	switch {
	case of.Kind == "":
		return nil, errors.New("must have an apiVersion and a kind")
	case len(others) == 0:
		return nil, errors.Errorf("no XRD in these files defines %s in group %s", of.Kind, of.Group)
	}

	return nil, errors.Errorf("the XRD of %s in group %s has no version %q, only %s", of.Kind, of.Group, of.Version,
		strings.Join(others, ", "))
}
