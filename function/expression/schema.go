package expression

import (
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A Type is a JSON type, in the form of OpenAPI. It is empty for a value of unknown type.
type Type string

// Types of JSON.
const (
	Boolean Type = "boolean"
	Integer Type = "integer"
	Number  Type = "number"
	String  Type = "string"
	Array   Type = "array"
	Object  Type = "object"
)

// Schemas are OpenAPI v3, as in an XRD or from the API server. A nil schema allows any value.

// typed returns the schema of a type.
func typed(t Type) map[string]any { return map[string]any{"type": string(t)} }

// with returns the schema of a type with one more keyword.
func with(t Type, keyword string, of map[string]any) map[string]any {
	return map[string]any{"type": string(t), keyword: of}
}

// objectOf returns the schema of an object with these properties only, listOf that of a list, and mapOf that of an
// object with any keys.
func objectOf(properties map[string]any) map[string]any {
	return with(Object, "properties", properties)
}

func listOf(items map[string]any) map[string]any { return with(Array, "items", items) }
func mapOf(values map[string]any) map[string]any { return with(Object, "additionalProperties", values) }

// below returns the schema of a property; nil if it is unknown.
func below(schema map[string]any, name string) map[string]any {
	properties, _ := schema["properties"].(map[string]any)
	p, _ := properties[name].(map[string]any)

	return p
}

// namesIn returns the sorted names of the properties of a schema.
func namesIn(schema map[string]any) []string {
	properties, _ := schema["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

// resource returns the schema of a Kubernetes object, which may be an XR. It adds the standard fields, the fields that
// Crossplane adds to XRs, and those of more.
func resource(openAPI, more map[string]any) map[string]any {
	fields := map[string]any{}
	properties, _ := openAPI["properties"].(map[string]any)
	maps.Copy(fields, properties)
	maps.Copy(fields, more)

	fields["apiVersion"], fields["kind"], fields["metadata"] = typed(String), typed(String), metadata()

	for field, own := range map[string][]string{
		"spec":   append(manifest.LegacySpec[:], "crossplane"),
		"status": manifest.LegacyStatus[:],
	} {
		of := maps.Clone(below(openAPI, field))
		if known, _ := of["properties"].(map[string]any); len(known) > 0 {
			all := map[string]any{}
			for _, f := range own {
				all[f] = nil
			}

			maps.Copy(all, known)
			of["properties"] = all
		}

		fields[field] = of
	}

	return objectOf(fields)
}

// metadata returns the schema of the metadata of a Kubernetes object.
func metadata() map[string]any {
	fields := map[string]any{
		"generation": typed(Integer), "deletionGracePeriodSeconds": typed(Integer),
		"labels": mapOf(typed(String)), "annotations": mapOf(typed(String)),
		"finalizers": listOf(typed(String)), "ownerReferences": nil,
	}

	for _, text := range []string{
		"name", "generateName", "namespace", "uid", "resourceVersion", "selfLink", "creationTimestamp", "deletionTimestamp",
	} {
		fields[text] = typed(String)
	}

	return objectOf(fields)
}

// A provider is a CEL type provider for objects with schemas.
type provider struct {
	types.Provider

	// objects has the schemas of objects by the names of their CEL types.
	objects map[string]map[string]any
}

// prefix is the prefix of the names of CEL types for objects with schemas.
const prefix = "ansible."

// typeOf returns the CEL type for a schema, and registers the type of an object under a name. A string with a format is
// a string, unlike in Kubernetes, so that an expression has the same meaning without the schema.
func (p provider) typeOf(name string, schema map[string]any) *cel.Type {
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
	case is == string(String):
		return cel.StringType
	case is == string(Boolean):
		return cel.BoolType
	case is == string(Integer):
		return cel.IntType
	case is == string(Number):
		return cel.DoubleType
	case is == string(Array) && isList:
		return cel.ListType(p.typeOf(name+".@item", items))
	case is == string(Object) && isMap:
		return cel.MapType(cel.StringType, p.typeOf(name+".@value", values))
	case is == string(Object) && len(properties) > 0:
		p.objects[name] = schema
		return cel.ObjectType(name)
	}

	return cel.DynType
}

// schemaOf returns the schema of the JSON for a CEL type; nil if any value is possible.
func (p provider) schemaOf(t *cel.Type) map[string]any {
	switch t.Kind() {
	case types.BoolKind:
		return typed(Boolean)
	case types.IntKind, types.UintKind:
		return typed(Integer)
	case types.DoubleKind:
		return typed(Number)
	case types.StringKind, types.BytesKind, types.DurationKind, types.TimestampKind:
		return typed(String)
	case types.ListKind:
		return listOf(p.schemaOf(t.Parameters()[0]))
	case types.MapKind:
		if t.Parameters()[0].Kind() == types.StringKind {
			return mapOf(p.schemaOf(t.Parameters()[1]))
		}
	case types.OpaqueKind:
		if t.TypeName() == "optional_type" {
			return p.schemaOf(t.Parameters()[0])
		}
	case types.StructKind:
		return p.objects[t.TypeName()]
	}

	return nil
}

// FindStructType implements types.Provider.
func (p provider) FindStructType(name string) (*types.Type, bool) {
	if _, ok := p.objects[name]; ok {
		return types.NewTypeTypeWithParam(cel.ObjectType(name)), true
	}

	return p.Provider.FindStructType(name)
}

// FindStructFieldType implements types.Provider.
func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	schema, ok := p.objects[name]
	if !ok {
		return p.Provider.FindStructFieldType(name, field)
	}

	properties, _ := schema["properties"].(map[string]any)
	_, ok = properties[field]

	return &types.FieldType{Type: p.typeOf(name+"."+field, below(schema, field))}, ok
}

// Type returns the type of the value, unless it is optional.none(); empty if it is unknown.
func (t *Template) Type() Type {
	is, _ := t.schema["type"].(string)
	return Type(is)
}

// Is reports whether the type of the value is unknown, or one of these.
func (t *Template) Is(these ...Type) bool { return t.Type() == "" || slices.Contains(these, t.Type()) }

// ItemType returns the type of the items of an array; empty if it is unknown, or if the items have several types.
func (t *Template) ItemType() Type {
	items, _ := t.schema["items"].(map[string]any)
	is, _ := items["type"].(string)

	for i, item := range t.Items {
		if is = string(item.Type()); item.Type() != t.Items[0].Type() && i > 0 {
			return ""
		}
	}

	return Type(is)
}

// Known returns the names of the fields that an object can have; nil if it can have any.
func (t *Template) Known() []string {
	return namesIn(t.schema)
}

// Item returns the schema of the items of a list or a map, for each.value; nil if it is unknown.
func (t *Template) Item() map[string]any {
	for _, of := range []string{"items", "additionalProperties"} {
		if item, ok := t.schema[of].(map[string]any); ok {
			return item
		}
	}

	return nil
}
