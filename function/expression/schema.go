package expression

import (
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// Names of types.
const (
	prefix  = "ansible."
	nameRun = "Run"

	connectionDetails = "connectionDetails"
)

// A Schema of an XR. It says which fields there are, and which numbers are
// integers.
type Schema struct {
	declared *apiservercel.DeclType
	openAPI  map[string]any
}

// OpenAPI returns the schema that this one was made of; nil if there is none.
func (s *Schema) OpenAPI() map[string]any {
	if s == nil {
		return nil
	}

	return s.openAPI
}

// NewSchema returns the Schema that an OpenAPI v3 schema is, as an XRD or the
// API server has it. Fields that Crossplane adds to each XR are always there.
// Whatever the schema does not tell may be anything. An empty schema is none:
// nil.
func NewSchema(openAPI map[string]any) *Schema {
	if len(openAPI) == 0 {
		return nil
	}

	return &Schema{declared: declaredResource(prefix+"XR", openAPI), openAPI: openAPI}
}

// declaredResource returns the type of an object that is a resource of Kubernetes, and
// may be an XR.
func declaredResource(name string, openAPI map[string]any) *apiservercel.DeclType {
	if len(openAPI) == 0 {
		return apiservercel.DynType
	}

	root := apiservercel.NewObjectType(name, map[string]*apiservercel.DeclField{
		"apiVersion": declare("apiVersion", apiservercel.StringType),
		"kind":       declare("kind", apiservercel.StringType),
		"metadata":   declare("metadata", metadata()),
	})

	for field, own := range map[string][]string{
		"spec":   append(manifest.LegacySpec[:], "crossplane"),
		"status": manifest.LegacyStatus[:],
	} {
		t := declaredType(name+"."+field, below(openAPI, field))
		if t.IsObject() {
			for _, f := range own {
				if t.Fields[f] == nil {
					t.Fields[f] = declare(f, apiservercel.DynType)
				}
			}
		}

		root.Fields[field] = declare(field, t)
	}

	properties, _ := openAPI["properties"].(map[string]any)
	for f := range properties {
		if root.Fields[f] == nil {
			root.Fields[f] = declare(f, declaredType(name+"."+f, below(openAPI, f)))
		}
	}

	return root
}

// metadata of any object.
func metadata() *apiservercel.DeclType {
	texts := apiservercel.NewMapType(apiservercel.StringType, apiservercel.StringType, -1)
	t := objectType(
		"XR.metadata", apiservercel.StringType,
		"name", "generateName", "namespace", "uid", "resourceVersion", "selfLink", "creationTimestamp", "deletionTimestamp",
	)

	t.Fields["generation"] = declare("generation", apiservercel.IntType)
	t.Fields["deletionGracePeriodSeconds"] = declare("deletionGracePeriodSeconds", apiservercel.IntType)
	t.Fields["labels"] = declare("labels", texts)
	t.Fields["annotations"] = declare("annotations", texts)
	t.Fields["finalizers"] = declare("finalizers", apiservercel.NewListType(apiservercel.StringType, -1))
	t.Fields["ownerReferences"] = declare("ownerReferences", apiservercel.DynType)

	return t
}

// declaredType returns the type of values with a schema. Strings are strings
// whatever their format, so that an expression means the same without the
// schema. Kubernetes' own way from schemas to types knows no fields that the
// schema does not.
func declaredType(name string, schema map[string]any) *apiservercel.DeclType {
	if isTrue(schema, "x-kubernetes-int-or-string") || isTrue(schema, "x-kubernetes-preserve-unknown-fields") ||
		isTrue(schema, "nullable") {
		return apiservercel.DynType
	}

	switch schema["type"] {
	case "string":
		return apiservercel.StringType
	case "boolean":
		return apiservercel.BoolType
	case "integer":
		return apiservercel.IntType
	case "number":
		return apiservercel.DoubleType
	case "array":
		if items, ok := schema["items"].(map[string]any); ok {
			return apiservercel.NewListType(declaredType(name+".@item", items), -1)
		}
	case "object":
		return declaredObject(name, schema)
	}

	return apiservercel.DynType
}

func declaredObject(name string, schema map[string]any) *apiservercel.DeclType {
	if values, ok := schema["additionalProperties"].(map[string]any); ok {
		return apiservercel.NewMapType(apiservercel.StringType, declaredType(name+".@value", values), -1)
	}

	properties, _ := schema["properties"].(map[string]any)
	if len(properties) == 0 || isTrue(schema, "x-kubernetes-embedded-resource") {
		return apiservercel.DynType
	}

	fields := make(map[string]*apiservercel.DeclField, len(properties))
	for f := range properties {
		fields[f] = declare(f, declaredType(name+"."+f, below(schema, f)))
	}

	return apiservercel.NewObjectType(name, fields)
}

// below returns the schema of a property.
func below(schema map[string]any, name string) map[string]any {
	properties, _ := schema["properties"].(map[string]any)
	p, _ := properties[name].(map[string]any)

	return p
}

func isTrue(schema map[string]any, name string) bool {
	b, _ := schema[name].(bool)
	return b
}

// collection declares a root with these names, of one type or, where true, of
// another one.
func collection(name string, one, many *apiservercel.DeclType, names map[string]bool) *apiservercel.DeclType {
	t := objectType(name, one)

	for n, isMany := range names {
		t.Fields[n] = declare(n, one)
		if isMany {
			t.Fields[n] = declare(n, many)
		}
	}

	return t
}

func declare(name string, t *apiservercel.DeclType) *apiservercel.DeclField {
	return apiservercel.NewDeclField(name, t, true, nil, nil)
}

func declareDetails() *apiservercel.DeclField {
	return declare(connectionDetails, apiservercel.NewMapType(apiservercel.StringType, apiservercel.StringType, -1))
}

// objectType declares an object with fields of one type.
func objectType(name string, t *apiservercel.DeclType, fields ...string) *apiservercel.DeclType {
	decls := make(map[string]*apiservercel.DeclField, len(fields))
	for _, f := range fields {
		decls[f] = declare(f, t)
	}

	return apiservercel.NewObjectType(prefix+name, decls)
}
