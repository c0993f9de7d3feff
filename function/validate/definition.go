package validate

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"
)

// groupCrossplane is the API group of Compositions and XRDs.
const groupCrossplane = "apiextensions.crossplane.io"

// A definition is an XRD.
type definition struct {
	group, kind string
	versions    map[string]*version
}

// A version of an XRD.
type version struct {
	// namespaced is the scope of its XRs.
	namespaced bool
	// schema of its XRs, as OpenAPI v3; nil when there is none.
	schema map[string]any
}

// define what is in an XRD. It copes with XRDs that the API server refuses.
func define(d document) definition {
	group, _, _ := unstructured.NestedString(d.object, "spec", "group")
	kind, _, _ := unstructured.NestedString(d.object, "spec", "names", "kind")
	scope, ok, _ := unstructured.NestedString(d.object, "spec", "scope")

	// Until v2 of the API XRs were cluster-scoped unless they said otherwise.
	namespaced := scope == "Namespaced" || !ok && !strings.HasSuffix(text(d.object, "apiVersion"), "/v1")

	def := definition{group: group, kind: kind, versions: map[string]*version{}}

	versions, _, _ := unstructured.NestedSlice(d.object, "spec", "versions")
	for i := range versions {
		v, _ := versions[i].(map[string]any)
		schema, _, _ := unstructured.NestedMap(v, "schema", "openAPIV3Schema")
		def.versions[text(v, "name")] = &version{namespaced: namespaced, schema: schema}
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

		return nil, errors.Errorf("the XRD of %s in group %s has no version %q, but %s", ref.kind, ref.group, ref.version, strings.Join(slices.Sorted(maps.Keys(d.versions)), ", "))
	}

	return nil, errors.Errorf("none of the XRDs is of %s in group %s", ref.kind, ref.group)
}

// A typeReference is what a Composition is for.
type typeReference struct {
	group, version, kind string
}

func reference(composition map[string]any) typeReference {
	apiVersion, _, _ := unstructured.NestedString(composition, "spec", "compositeTypeRef", "apiVersion")
	kind, _, _ := unstructured.NestedString(composition, "spec", "compositeTypeRef", "kind")
	group, version, _ := strings.Cut(apiVersion, "/")

	return typeReference{group: group, version: version, kind: kind}
}

// statusErrors are the status fields of an input that XRs do not have: one such
// field would keep core from updating anything of the XR.
func statusErrors(in, schema map[string]any) field.ErrorList {
	status, ok := in["status"].(map[string]any)
	if !ok || schema == nil {
		return nil
	}

	below, ok := property(schema, "status")
	if !ok {
		return field.ErrorList{field.Forbidden(field.NewPath("status"), "the XRD has no status")}
	}

	return undeclared(field.NewPath("status"), status, below)
}

// undeclared fields of a value, by a schema.
func undeclared(path *field.Path, v any, schema map[string]any) field.ErrorList {
	var errs field.ErrorList

	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below, ok := property(schema, name)
			if !ok {
				errs = append(errs, field.Forbidden(path.Child(name), "the XRD does not declare this field"))
				continue
			}

			errs = append(errs, undeclared(path.Child(name), v[name], below)...)
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		if items == nil {
			return nil
		}

		for i := range v {
			errs = append(errs, undeclared(path.Index(i), v[i], items)...)
		}
	}

	return errs
}

// property of a schema by its name; nil when it may be anything, false when
// there is none.
func property(schema map[string]any, name string) (map[string]any, bool) {
	if anything, _ := schema["x-kubernetes-preserve-unknown-fields"].(bool); anything || schema == nil {
		return nil, true
	}

	properties, _ := schema["properties"].(map[string]any)
	if p, ok := properties[name].(map[string]any); ok {
		return p, true
	}

	switch values := schema["additionalProperties"].(type) {
	case map[string]any:
		return values, true
	case bool:
		return nil, values
	}

	return nil, false
}

// is the document of a kind?
func (d document) is(group, kind string) bool {
	return strings.HasPrefix(text(d.object, "apiVersion"), group+"/") && text(d.object, "kind") == kind
}

// name of the document's object.
func (d document) name() string {
	name, _, _ := unstructured.NestedString(d.object, "metadata", "name")
	return name
}

// text in a field of an object.
func text(object map[string]any, name string) string {
	s, _ := object[name].(string)
	return s
}
