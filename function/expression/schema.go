package expression

import (
	"maps"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// Names of types.
const (
	prefix       = "ansible."
	typeXR       = prefix + "XR"
	typeRun      = prefix + "Run"
	typeMetadata = prefix + "metadata"

	connectionDetails = "connectionDetails"
)

// Objects have fields of known types, by the names of their own types.
type objects map[string]map[string]*cel.Type

// object of a type with these fields.
func (o objects) object(name string, fields map[string]*cel.Type) *cel.Type {
	o[name] = fields
	return cel.ObjectType(name)
}

// A Schema of an XR. It says which fields there are, and which numbers are integers.
type Schema struct {
	objects objects
	openAPI map[string]any
}

// OpenAPI returns the schema that this one was made of; nil if there is none.
func (s *Schema) OpenAPI() map[string]any {
	if s == nil {
		return nil
	}

	return s.openAPI
}

// NewSchema returns the Schema that an OpenAPI v3 schema is, as an XRD or the API server has it. Fields that Crossplane
// adds to each XR are always there. Whatever the schema does not tell may be anything. An empty schema is none: nil.
func NewSchema(openAPI map[string]any) *Schema {
	if len(openAPI) == 0 {
		return nil
	}

	s := &Schema{objects: objects{}, openAPI: openAPI}
	s.objects.resource(typeXR, openAPI)

	return s
}

// resource returns the type of an object that is a resource of Kubernetes, and may be an XR.
func (o objects) resource(name string, openAPI map[string]any) *cel.Type {
	if len(openAPI) == 0 {
		return cel.DynType
	}

	fields := map[string]*cel.Type{}

	properties, _ := openAPI["properties"].(map[string]any)
	for f := range properties {
		fields[f] = o.typeOf(name+"."+f, below(openAPI, f))
	}

	fields["apiVersion"], fields["kind"], fields["metadata"] = cel.StringType, cel.StringType, o.metadata()

	for field, own := range map[string][]string{
		"spec":   append(manifest.LegacySpec[:], "crossplane"),
		"status": manifest.LegacyStatus[:],
	} {
		if fields[field] == nil {
			fields[field] = cel.DynType
		}

		known := o[fields[field].TypeName()]
		for _, f := range own {
			if known != nil && known[f] == nil {
				known[f] = cel.DynType
			}
		}
	}

	return o.object(name, fields)
}

// metadata of any object.
func (o objects) metadata() *cel.Type {
	texts := cel.MapType(cel.StringType, cel.StringType)

	return o.object(typeMetadata, map[string]*cel.Type{
		"name": cel.StringType, "generateName": cel.StringType, "namespace": cel.StringType, "uid": cel.StringType,
		"resourceVersion": cel.StringType, "selfLink": cel.StringType,
		"creationTimestamp": cel.StringType, "deletionTimestamp": cel.StringType,
		"generation": cel.IntType, "deletionGracePeriodSeconds": cel.IntType,
		"labels": texts, "annotations": texts,
		"finalizers": cel.ListType(cel.StringType), "ownerReferences": cel.DynType,
	})
}

// typeOf values with a schema. Strings are strings whatever their format, so that an expression means the same without
// the schema. Kubernetes' own way from schemas to types knows no fields that the schema does not.
func (o objects) typeOf(name string, schema map[string]any) *cel.Type {
	for _, open := range []string{
		"x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource", "nullable",
	} {
		if schema[open] == true {
			return cel.DynType
		}
	}

	items, isList := schema["items"].(map[string]any)
	values, isMap := schema["additionalProperties"].(map[string]any)
	properties, _ := schema["properties"].(map[string]any)

	switch is := schema["type"]; {
	case is == "string":
		return cel.StringType
	case is == "boolean":
		return cel.BoolType
	case is == "integer":
		return cel.IntType
	case is == "number":
		return cel.DoubleType
	case is == "array" && isList:
		return cel.ListType(o.typeOf(name+".@item", items))
	case is == "object" && isMap:
		return cel.MapType(cel.StringType, o.typeOf(name+".@value", values))
	case is == "object" && len(properties) > 0:
		fields := make(map[string]*cel.Type, len(properties))
		for f := range properties {
			fields[f] = o.typeOf(name+"."+f, below(schema, f))
		}

		return o.object(name, fields)
	}

	return cel.DynType
}

// below returns the schema of a property.
func below(schema map[string]any, name string) map[string]any {
	properties, _ := schema["properties"].(map[string]any)
	p, _ := properties[name].(map[string]any)

	return p
}

// copyOf a type that is known elsewhere, by another name. Without the schema it is not known which integral numbers in
// it are doubles, so that numbers may be of any type.
func (o objects) copyOf(t *cel.Type, name string, from objects) *cel.Type {
	switch t.Kind() {
	case types.StructKind:
		fields := maps.Clone(from[t.TypeName()])
		for f := range fields {
			fields[f] = o.copyOf(fields[f], name+"."+f, from)
		}

		return o.object(name, fields)
	case types.ListKind:
		return cel.ListType(o.copyOf(t.Parameters()[0], name+".@item", from))
	case types.MapKind:
		return cel.MapType(t.Parameters()[0], o.copyOf(t.Parameters()[1], name+".@value", from))
	case types.DoubleKind:
		return cel.DynType
	}

	return t
}
