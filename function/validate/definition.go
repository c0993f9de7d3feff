package validate

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// API groups of the objects that are read.
const (
	// groupCrossplane is the group of Compositions and XRDs.
	groupCrossplane = "apiextensions.crossplane.io"
	// groupKubernetes is the group of CRDs.
	groupKubernetes = "apiextensions.k8s.io"
	// groupOperations is the group of Operations.
	groupOperations = "ops.crossplane.io"
)

// operation is the version for an Operation, which has no XR.
var operation = version{operation: true} //nolint:gochecknoglobals // Go has no constant structs.

// A version is a version of an XRD or a CRD.
type version struct {
	schema.GroupVersionKind

	// operation is true for Operations, which have no XR.
	operation bool

	// namespaced is true for namespaced XRs.
	namespaced bool
	// legacy is true for legacy XRs, which have connection details of their own.
	legacy bool
	// openAPI is the schema of the objects; nil for none.
	openAPI map[string]any
}

// versionsOf returns the versions of an XRD or a CRD, even if the API server would refuse it.
func versionsOf(d document) []version {
	// The default scope depends on the version of the API of XRDs.
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

// lookup returns the version with an apiVersion and a kind.
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
