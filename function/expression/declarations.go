package expression

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// Declarations are what an Environment's expressions see.
type Declarations struct {
	// Runs by name: true for those that are made by forEach, which are maps by key.
	Runs map[string]bool
	// Required resources by name: true for those that are selected by labels, which are lists.
	Required map[string]bool
	// Resources that other steps compose, with their OpenAPI v3 schemas as far as they are known; nil when there may be
	// any.
	Resources map[string]map[string]any
	// Each is true where each.key and each.value are there.
	Each bool
	// Item is what is known of each.value; nil for nothing.
	Item *Item
	// Details is true where runs have their connection details.
	Details bool
	// Operation is true where there is neither an XR nor anything observed of runs.
	Operation bool
	// Locals that expressions see; nil for none. Those of which nothing is compiled yet may be anything.
	Locals *Locals
	// Schema of the XR, if it is known.
	Schema *Schema
	// Run is the OpenAPI v3 schema of an AnsibleRun; without it, fields of runs may be anything.
	Run map[string]any
}

// declared are the types of the roots by name, and the objects that these are or have.
type declared struct {
	objects

	roots map[string]*cel.Type
}

// types of the roots.
func (d Declarations) types() declared {
	t := declared{objects: objects{}}
	run := d.run(t.objects)

	xr := t.object(typeXR, map[string]*cel.Type{
		"apiVersion": cel.StringType, "kind": cel.StringType,
		"metadata": cel.DynType, "spec": cel.DynType, "status": cel.DynType,
	})
	if d.Schema != nil {
		maps.Copy(t.objects, d.Schema.objects)
	}

	t.roots = map[string]*cel.Type{
		rootXR:          xr,
		rootRuns:        t.collection("Runs", run, cel.MapType(cel.StringType, run), d.Runs),
		rootRequired:    t.collection("Required", cel.DynType, cel.ListType(cel.DynType), d.Required),
		rootResources:   cel.MapType(cel.StringType, cel.DynType),
		rootEnvironment: cel.MapType(cel.StringType, cel.DynType),
		rootContext:     cel.MapType(cel.StringType, cel.DynType),
		rootLocals:      t.object(prefix+"Locals", d.Locals.types),
	}

	if d.Each {
		each := map[string]*cel.Type{"key": cel.StringType, "value": cel.DynType}
		if d.Item != nil {
			each["value"] = t.copyOf(d.Item.declared, prefix+"Each.value", d.Item.objects)
		}

		t.roots[rootEach] = t.object(prefix+"Each", each)
	}

	if d.Resources != nil {
		resources := map[string]*cel.Type{}
		for name, schema := range d.Resources {
			resources[name] = t.resource(prefix+"Resources."+name, schema)
			if fields := t.objects[resources[name].TypeName()]; d.Details && fields != nil {
				fields[connectionDetails] = cel.MapType(cel.StringType, cel.StringType)
			}
		}

		t.roots[rootResources] = t.object(prefix+"Resources", resources)
	}

	if d.Operation {
		delete(t.roots, rootXR)
		delete(t.roots, rootRuns)
		delete(t.roots, rootResources)
	}

	return t
}

// collection declares a root with these names, of one type or, where true, of another one.
func (o objects) collection(name string, one, many *cel.Type, names map[string]bool) *cel.Type {
	fields := make(map[string]*cel.Type, len(names))

	for n, isMany := range names {
		fields[n] = one
		if isMany {
			fields[n] = many
		}
	}

	return o.object(prefix+name, fields)
}

// run declares a run, by the schema of an AnsibleRun if that is known.
func (d Declarations) run(o objects) *cel.Type {
	fields := map[string]*cel.Type{
		"metadata": cel.DynType, "spec": cel.DynType, "status": cel.DynType, "reported": cel.DynType, "ready": cel.BoolType,
	}

	for _, f := range []string{"outputs", "lastRun", "lastApply", "drift", "content"} {
		fields[f] = o.typeOf(typeRun+"."+f, below(below(below(d.Run, "status"), "atProvider"), f))
	}

	if d.Details {
		fields[connectionDetails] = cel.MapType(cel.StringType, cel.StringType)
	}

	if d.Run != nil {
		fields["metadata"] = o.metadata()
		fields["spec"] = o.typeOf(typeRun+".spec", below(d.Run, "spec"))
		fields["status"] = o.typeOf(typeRun+".status", below(d.Run, "status"))
	}

	return o.object(typeRun, fields)
}

// fieldsAt returns the fields of an object that is selected from a root; nil for what is no such object.
func (t declared) fieldsAt(selection []string) map[string]*cel.Type {
	at := t.roots[selection[0]]
	for _, name := range selection[1:] {
		if at != nil {
			at = t.objects[at.TypeName()][name]
		}
	}

	if at == nil {
		return nil
	}

	return t.objects[at.TypeName()]
}

// A provider tells CEL of the fields of objects.
type provider struct {
	types.Provider

	objects objects
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
	if fields, ok := p.objects[name]; ok {
		return &types.FieldType{Type: fields[field]}, fields[field] != nil
	}

	return p.Provider.FindStructFieldType(name, field)
}

// asJSON returns the type of what a value of CEL becomes as JSON.
func asJSON(t *cel.Type) *cel.Type {
	switch t.Kind() {
	case types.BoolKind, types.IntKind, types.DoubleKind, types.StringKind:
		return t
	case types.UintKind:
		return cel.IntType
	case types.BytesKind, types.DurationKind, types.TimestampKind:
		return cel.StringType
	case types.ListKind:
		return cel.ListType(asJSON(t.Parameters()[0]))
	case types.MapKind:
		if t.Parameters()[0].Kind() == types.StringKind {
			return cel.MapType(cel.StringType, asJSON(t.Parameters()[1]))
		}
	case types.OpaqueKind: // What is inside of other types than optionals cannot be known.
		if t.TypeName() == "optional_type" && t.Parameters()[0].Kind() != types.OpaqueKind {
			return asJSON(t.Parameters()[0])
		}
	case types.StructKind:
		if strings.HasPrefix(t.TypeName(), prefix) {
			return t
		}
	}

	return cel.DynType
}

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

// kinds of CEL as JSON has them.
var kinds = map[types.Kind]Type{ //nolint:gochecknoglobals // It is a constant.
	types.BoolKind: Boolean, types.IntKind: Integer, types.DoubleKind: Number, types.StringKind: String,
	types.ListKind: Array, types.MapKind: Object, types.StructKind: Object,
}

// Type of the value, as far as it is known: that of all values which are there.
func (t *Template) Type() Type { return kinds[t.declared.Kind()] }

// Is one of these types, as far as it is known.
func (t *Template) Is(these ...Type) bool { return t.Type() == "" || slices.Contains(these, t.Type()) }

// ItemType returns the type of the items of an array, as far as it is known.
func (t *Template) ItemType() Type {
	if t.declared.Kind() != types.ListKind {
		return ""
	}

	is := kinds[t.declared.Parameters()[0].Kind()]

	for i, item := range t.items {
		if is = item.Type(); is != t.items[0].Type() && i > 0 {
			return ""
		}
	}

	return is
}

// Known returns the names of the fields that an object can have; none when it can have any.
func (t *Template) Known() []string {
	return slices.Sorted(maps.Keys(t.objects[t.declared.TypeName()]))
}

// An Item is what is known of the values of a list or a map, which each.value is one of.
type Item struct {
	// Type of the values, as CEL calls it.
	Type string

	declared *cel.Type
	objects  objects
}

// Item returns what is known of the values of a list or a map; nil for nothing.
func (t *Template) Item() *Item {
	parameters := t.declared.Parameters()
	if len(parameters) == 0 || parameters[len(parameters)-1].Kind() == types.DynKind {
		return nil
	}

	of := parameters[len(parameters)-1]

	return &Item{Type: of.String(), declared: of, objects: t.objects}
}
