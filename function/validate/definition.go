package validate

import (
	"cmp"
	"slices"
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

// A definition is an XRD or a CRD.
type definition struct {
	schema.GroupKind

	versions map[string]*version
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
	// Until v2 of the API XRs were cluster-scoped unless they said otherwise.
	scope := "Namespaced"
	if strings.HasSuffix(manifest.Text(d.object, "apiVersion"), "/v1") {
		scope = "LegacyCluster"
	}

	scope = cmp.Or(manifest.NestedText(d.object, "spec", "scope"), scope)

	def := definition{versions: map[string]*version{}, GroupKind: schema.GroupKind{
		Group: manifest.NestedText(d.object, "spec", "group"), Kind: manifest.NestedText(d.object, "spec", "names", "kind"),
	}}

	versions, _ := manifest.Nested(d.object, "spec", "versions").([]any)
	for i := range versions {
		v, _ := versions[i].(map[string]any)
		openAPI, _ := manifest.Nested(v, "schema", "openAPIV3Schema").(map[string]any)
		def.versions[manifest.Text(v, "name")] = &version{
			namespaced: scope == "Namespaced", legacy: scope == "LegacyCluster", schema: openAPI,
		}
	}

	return def
}

// lookup the version of a definition that is meant by an apiVersion and a kind.
func lookup(definitions []definition, apiVersion, kind string) (*version, error) {
	of := schema.FromAPIVersionAndKind(apiVersion, kind)
	if of.Kind == "" {
		return nil, errors.New("must have an apiVersion and a kind")
	}

	at := slices.IndexFunc(definitions, func(d definition) bool { return d.GroupKind == of.GroupKind() })
	if at < 0 {
		return nil, errors.Errorf("no XRD in these files defines %s in group %s", of.Kind, of.Group)
	}

	versions := definitions[at].versions
	if versions[of.Version] == nil {
		return nil, errors.Errorf("the XRD of %s in group %s has no version %q, only %s", of.Kind, of.Group, of.Version,
			strings.Join(manifest.SortedKeys(versions), ", "))
	}

	return versions[of.Version], nil
}
