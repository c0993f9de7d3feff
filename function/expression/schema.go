package expression

import (
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A Type of JSON, as schemas call it. The empty one is that of a value of which nothing is known before it is computed.
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

// What is known of a value is an OpenAPI v3 schema, as an XRD or the API server has it. Whatever a schema does not tell
// may be anything.

// typed returns the schema of any value of a type.
func typed(t Type) map[string]any { return map[string]any{"type": string(t)} }

// with returns the schema of a type that has a keyword beside it.
func with(t Type, keyword string, of map[string]any) map[string]any {
	return map[string]any{"type": string(t), keyword: of}
}

// objectOf returns the schema of an object with these properties, and no other ones, listOf that of a list, and mapOf
// that of an object with any keys.
func objectOf(properties map[string]any) map[string]any {
	return with(Object, "properties", properties)
}

func listOf(items map[string]any) map[string]any { return with(Array, "items", items) }
func mapOf(values map[string]any) map[string]any { return with(Object, "additionalProperties", values) }

// below returns the schema of a property.
func below(schema map[string]any, name string) map[string]any {
	properties, _ := schema["properties"].(map[string]any)
	p, _ := properties[name].(map[string]any)

	return p
}

// namesIn returns the names of the properties of a schema.
func namesIn(schema map[string]any) []string {
	properties, _ := schema["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

// resource returns the schema of an object of Kubernetes that may be an XR. The fields that each object has, those that
// Crossplane adds, and those of more are always there.
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

// metadata of any object.
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

// A provider tells CEL of the fields of objects. It has their schemas by the names that their types have in CEL.
type provider struct {
	types.Provider

	objects map[string]map[string]any
}

// prefix of the names of types.
const prefix = "ansible."

// typeOf values with a schema. Strings are strings whatever their format, so that an expression means the same without
// the schema. Kubernetes' own way from schemas to types has times and durations instead.
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

// schemaOf what a value of CEL becomes as JSON; nil for what may be anything.
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
	case types.OpaqueKind: // What is inside of other types than optionals cannot be known.
		if t.TypeName() == "optional_type" {
			return p.schemaOf(t.Parameters()[0])
		}
	case types.StructKind:
		return p.objects[t.TypeName()]
	}

	return nil
}

// FindStructType returns the type with a name.
func (p provider) FindStructType(name string) (*types.Type, bool) {
	if _, ok := p.objects[name]; ok {
		return types.NewTypeTypeWithParam(cel.ObjectType(name)), true
	}

	return p.Provider.FindStructType(name)
}

// FindStructFieldType returns the type of a field.
func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	schema, ok := p.objects[name]
	if !ok {
		return p.Provider.FindStructFieldType(name, field)
	}

	properties, _ := schema["properties"].(map[string]any)
	_, ok = properties[field]

	return &types.FieldType{Type: p.typeOf(name+"."+field, below(schema, field))}, ok
}

// Type of the value, as far as it is known: that of all values which are there.
func (t *Template) Type() Type {
	is, _ := t.schema["type"].(string)
	return Type(is)
}

// Is one of these types, as far as it is known.
func (t *Template) Is(these ...Type) bool { return t.Type() == "" || slices.Contains(these, t.Type()) }

// ItemType returns the type of the items of an array, as far as it is known.
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

// Known returns the names of the fields that an object can have; none when it can have any.
func (t *Template) Known() []string {
	return namesIn(t.schema)
}

// Item returns the schema of the values of a list or a map, which each.value is one of; nil for nothing.
func (t *Template) Item() map[string]any {
	for _, of := range []string{"items", "additionalProperties"} {
		if item, ok := t.schema[of].(map[string]any); ok {
			return item
		}
	}

	return nil
}
