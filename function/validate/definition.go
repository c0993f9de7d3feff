package validate

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

// A definition is an XRD or a CRD.
type definition struct {
	group, kind string
	versions    map[string]*version
}

// A version of an XRD.
type version struct {
	// namespaced is the scope of its XRs.
	namespaced bool
	// legacy XRs publish connection details themselves.
	legacy bool
	// schema of its XRs, as OpenAPI v3; nil when there is none.
	schema map[string]any
}

// define what is in an XRD or a CRD. It copes with XRDs that the API server refuses.
func define(d document) definition {
	scope, ok, _ := unstructured.NestedString(d.object, "spec", "scope")

	// Until v2 of the API XRs were cluster-scoped unless they said otherwise.
	v1 := strings.HasSuffix(manifest.Text(d.object, "apiVersion"), "/v1")
	namespaced := scope == "Namespaced" || !ok && !v1
	legacy := scope == "LegacyCluster" || !ok && v1

	def := definition{
		group:    manifest.NestedText(d.object, "spec", "group"),
		kind:     manifest.NestedText(d.object, "spec", "names", "kind"),
		versions: map[string]*version{},
	}

	versions, _, _ := unstructured.NestedSlice(d.object, "spec", "versions")
	for i := range versions {
		v, _ := versions[i].(map[string]any)
		schema, _, _ := unstructured.NestedMap(v, "schema", "openAPIV3Schema")
		def.versions[manifest.Text(v, "name")] = &version{namespaced: namespaced, legacy: legacy, schema: schema}
	}

	return def
}

// lookup the version of an XRD that a Composition refers to.
func lookup(definitions []definition, ref typeReference) (*version, error) {
	for _, d := range definitions {
		if d.group != ref.group || d.kind != ref.kind {
			continue
		}

		if v := d.versions[ref.version]; v != nil {
			return v, nil
		}

		return nil, errors.Errorf("the XRD of %s in group %s has no version %q, only %s", ref.kind, ref.group, ref.version,
			strings.Join(slices.Sorted(maps.Keys(d.versions)), ", "))
	}

	return nil, errors.Errorf("no XRD in these files defines %s in group %s", ref.kind, ref.group)
}

// A typeReference is what a Composition is for.
type typeReference struct {
	group, version, kind string
}

func reference(composition map[string]any) typeReference {
	group, version, _ := strings.Cut(manifest.NestedText(composition, "spec", "compositeTypeRef", "apiVersion"), "/")

	return typeReference{
		group: group, version: version,
		kind: manifest.NestedText(composition, "spec", "compositeTypeRef", "kind"),
	}
}
