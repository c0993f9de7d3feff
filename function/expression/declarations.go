package expression

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// Declarations are what an Environment's expressions see.
type Declarations struct {
	// Runs by name: true for those that are made by forEach, which are maps by
	// key.
	Runs map[string]bool
	// Required resources by name: true for those that are selected by labels,
	// which are lists.
	Required map[string]bool
	// Resources that other steps compose, with their OpenAPI v3 schemas as far as
	// they are known; nil when there may be any.
	Resources map[string]map[string]any
	// Each is true where each.key and each.value are there.
	Each bool
	// Item is what is known of each.value; nil for nothing.
	Item *Item
	// Details is true where runs have their connection details.
	Details bool
	// Operation is true where there is neither an XR nor anything observed of runs.
	Operation bool
	// Locals that expressions see; nil for none. Those of which nothing is compiled
	// yet may be anything.
	Locals *Locals
	// Schema of the XR, if it is known.
	Schema *Schema
	// Run is the OpenAPI v3 schema of an AnsibleRun; without it, fields of runs
	// may be anything.
	Run map[string]any
}

// types of the roots.
func (d Declarations) types() rootTypes {
	t := rootTypes{roots: d.roots(), run: d.runType()}
	// The type of runs comes last, for it replaces their name.
	t.provider = apiservercel.NewDeclTypeProvider(append(slices.Collect(maps.Values(t.roots)), t.run)...)

	return t
}

// roots that are objects, by name, with anything in the XR.
func (d Declarations) roots() map[string]*apiservercel.DeclType {
	xr := objectType("XR", apiservercel.DynType, "metadata", "spec", "status")
	xr.Fields["apiVersion"] = declare("apiVersion", apiservercel.StringType)
	xr.Fields["kind"] = declare("kind", apiservercel.StringType)

	if d.Schema != nil {
		xr = d.Schema.declared
	}

	// All fields of each of many runs would take long to declare.
	run := objectType(nameRun, apiservercel.DynType)

	roots := map[string]*apiservercel.DeclType{
		rootXR:   xr,
		rootRuns: collection("Runs", run, apiservercel.NewMapType(apiservercel.StringType, run, -1), d.Runs),
		rootRequired: collection("Required", apiservercel.DynType, apiservercel.NewListType(apiservercel.DynType, -1),
			d.Required),
		rootLocals: d.Locals.declared,
	}

	if d.Each {
		each := objectType("Each", apiservercel.DynType, "value")
		each.Fields["key"] = declare("key", apiservercel.StringType)
		if d.Item != nil {
			each.Fields["value"] = declare("value", d.Item.declared)
		}

		roots[rootEach] = each
	}

	if d.Resources != nil {
		resources := objectType("Resources", apiservercel.DynType)
		for name, schema := range d.Resources {
			resource := declaredResource(resources.TypeName()+"."+name, schema)
			if d.Details && resource.IsObject() {
				resource.Fields[connectionDetails] = declareDetails()
			}

			resources.Fields[name] = declare(name, resource)
		}

		roots[rootResources] = resources
	}

	if d.Operation {
		delete(roots, rootXR)
		delete(roots, rootRuns)
		delete(roots, rootResources)
	}

	return roots
}

// runType declares a run by the schema of an AnsibleRun, if that is known.
func (d Declarations) runType() *apiservercel.DeclType {
	reported := []string{"outputs", "lastRun", "lastApply", "drift", "content"}

	run := objectType(nameRun, apiservercel.DynType, append(reported, "reported", "metadata", "spec", "status")...)
	run.Fields["ready"] = declare("ready", apiservercel.BoolType)

	if d.Details {
		run.Fields[connectionDetails] = declareDetails()
	}

	if d.Run == nil {
		return run
	}

	run.Fields["metadata"] = declare("metadata", metadata())

	for _, f := range []string{"spec", "status"} {
		run.Fields[f] = declare(f, declaredType(prefix+nameRun+"."+f, below(d.Run, f)))
	}

	for _, f := range reported {
		run.Fields[f] = declare(f, declaredType(prefix+nameRun+"."+f, below(below(below(d.Run, "status"), "atProvider"), f)))
	}

	return run
}

// A Type of JSON, as schemas call it. The empty one is that of a value of which
// nothing is known before it is computed.
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

// typeOf values that are declared.
func typeOf(d *apiservercel.DeclType) Type {
	switch {
	case d.IsObject() || d.IsMap():
		return Object
	case d.IsList():
		return Array
	}

	switch d {
	case apiservercel.BoolType:
		return Boolean
	case apiservercel.IntType:
		return Integer
	case apiservercel.DoubleType:
		return Number
	case apiservercel.StringType:
		return String
	}

	return ""
}

// An Item is what is known of the values of a list or a map, which each.value is
// one of.
type Item struct {
	// Type of the values, as CEL calls it.
	Type string

	declared *apiservercel.DeclType
}

// Item returns what is known of the values of a list or a map; nil for nothing.
func (t *Template) Item() *Item {
	of := t.declared().ElemType
	if of == nil || of == apiservercel.DynType {
		return nil
	}

	return &Item{Type: of.CelType().String(), declared: detached(prefix+"Each.value", of)}
}

// detached returns a copy of a declaration by another name. Without the schema it is not
// known which integral numbers in it are doubles, so that numbers may be of any type.
func detached(name string, d *apiservercel.DeclType) *apiservercel.DeclType {
	switch {
	case d.IsObject():
		fields := make(map[string]*apiservercel.DeclField, len(d.Fields))
		for f := range d.Fields {
			fields[f] = declare(f, detached(name+"."+f, d.Fields[f].Type))
		}

		return apiservercel.NewObjectType(name, fields)
	case d.IsList():
		return apiservercel.NewListType(detached(name+".@item", d.ElemType), -1)
	case d.IsMap():
		return apiservercel.NewMapType(d.KeyType, detached(name+".@value", d.ElemType), -1)
	case d == apiservercel.DoubleType:
		return apiservercel.DynType
	}

	return d
}

// rootTypes are the types that an Environment declares.
type rootTypes struct {
	// roots that are objects, by name. In them a run is only named.
	roots map[string]*apiservercel.DeclType
	run   *apiservercel.DeclType
	// provider of all types in them, by name.
	provider *apiservercel.DeclTypeProvider
}

// forJSON returns the type of what a value of CEL becomes as JSON.
func (r rootTypes) forJSON(t *cel.Type) *apiservercel.DeclType {
	switch t.Kind() {
	case types.BoolKind:
		return apiservercel.BoolType
	case types.IntKind, types.UintKind:
		return apiservercel.IntType
	case types.DoubleKind:
		return apiservercel.DoubleType
	case types.StringKind, types.BytesKind, types.DurationKind, types.TimestampKind:
		return apiservercel.StringType
	case types.ListKind:
		return apiservercel.NewListType(r.forJSON(t.Parameters()[0]), -1)
	case types.MapKind:
		if t.Parameters()[0].Kind() == types.StringKind {
			return apiservercel.NewMapType(apiservercel.StringType, r.forJSON(t.Parameters()[1]), -1)
		}
	case types.OpaqueKind: // What is inside of other types than optionals cannot be known.
		if t.TypeName() == "optional_type" && t.Parameters()[0].Kind() != types.OpaqueKind {
			return r.forJSON(t.Parameters()[0])
		}
	case types.StructKind:
		if d, ok := r.provider.FindDeclType(t.TypeName()); ok {
			return d
		}
	}

	return apiservercel.DynType
}

// at returns the type of an object that is selected from a root, or nil.
func (r rootTypes) at(selection string) *apiservercel.DeclType {
	root, below, _ := strings.Cut(selection, ".")

	t := r.roots[root]
	for name := range strings.SplitSeq(below, ".") {
		if t == nil || below == "" {
			break
		}

		f := t.Fields[name]
		if f == nil {
			return nil
		}

		t = f.Type
		if t.TypeName() == r.run.TypeName() {
			t = r.run
		}
	}

	if t == nil || !t.IsObject() {
		return nil
	}

	return t
}
