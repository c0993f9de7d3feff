package expression

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

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

// typeOf what an expression of CEL becomes as JSON.
func typeOf(t *cel.Type) Type {
	switch t.Kind() {
	case types.BoolKind:
		return Boolean
	case types.IntKind, types.UintKind:
		return Integer
	case types.DoubleKind:
		return Number
	case types.StringKind, types.BytesKind, types.DurationKind, types.TimestampKind:
		return String
	case types.ListKind:
		return Array
	case types.MapKind:
		return Object
	case types.StructKind:
		// Others are values of libraries, such as URLs.
		if strings.HasPrefix(t.TypeName(), prefix) {
			return Object
		}
	case types.OpaqueKind:
		return typeOf(inside(t))
	}

	return ""
}

// inside of an optional is its value. What is inside of other opaque types cannot
// be known.
func inside(t *cel.Type) *cel.Type {
	switch {
	case t.Kind() != types.OpaqueKind:
		return t
	case t.TypeName() == "optional_type" && len(t.Parameters()) == 1:
		return t.Parameters()[0]
	}

	return cel.DynType
}

// expression that the value is, as a whole; nil if it is something else.
func (t *Template) expression() *program {
	if len(t.parts) != 1 {
		return nil
	}

	return t.parts[0].program
}

// String returns a string as it was written, but for its white space, and the type
// of anything else.
func (t *Template) String() string {
	if len(t.parts) == 0 {
		return string(t.Type())
	}

	var s strings.Builder

	for _, p := range t.parts {
		if p.program != nil {
			s.WriteString(p.program.show())
			continue
		}

		s.WriteString(strings.ReplaceAll(p.text, "${", "$${"))
	}

	return s.String()
}

// Type of the value, as far as it is known: that of all values which are there.
func (t *Template) Type() Type {
	p := t.expression()

	switch {
	case p != nil:
		return typeOf(p.output)
	case t.fields != nil:
		return Object
	case t.items != nil:
		return Array
	case t.computed && len(t.parts) == 1:
		// It has a mistake.
		return ""
	case len(t.parts) > 0:
		return String
	}

	switch t.literal.(type) {
	case bool:
		return Boolean
	case int64:
		return Integer
	case float64:
		return Number
	case string:
		return String
	}

	return ""
}

// Is one of these types, as far as it is known.
func (t *Template) Is(these ...Type) bool {
	is := t.Type()
	return is == "" || slices.Contains(these, is)
}

// ItemType returns the type of the items of an array, as far as it is known.
func (t *Template) ItemType() Type {
	if p := t.expression(); p != nil {
		out := inside(p.output)
		if out.Kind() == types.ListKind {
			return typeOf(out.Parameters()[0])
		}
	}

	var is Type

	for i, item := range t.items {
		if i > 0 && item.Type() != is {
			return ""
		}

		is = item.Type()
	}

	return is
}

// Known returns the names of the fields that an object can have; none when it
// can have any.
func (t *Template) Known() []string {
	p := t.expression()
	if p == nil || p.output.Kind() != types.StructKind {
		return nil
	}

	return p.known
}

// known names of the fields of a type that is declared below one of the roots.
func (e *Environment) known(t *cel.Type) []string {
	d := e.declaration(t)
	if d == nil {
		return nil
	}

	return slices.Sorted(maps.Keys(d.Fields))
}

// declaration of a type below one of the roots, or nil.
func (e *Environment) declaration(t *cel.Type) *apiservercel.DeclType {
	if t.Kind() != types.StructKind {
		return nil
	}

	for _, root := range append([]*apiservercel.DeclType{e.run}, slices.Collect(maps.Values(e.roots))...) {
		if d := declaredBelow(root, t.TypeName()); d != nil {
			return d
		}
	}

	return nil
}

// declaredBelow returns the declaration of a type of this name, or nil.
func declaredBelow(t *apiservercel.DeclType, name string) *apiservercel.DeclType {
	if t == nil || t.TypeName() == name {
		return t
	}

	if d := declaredBelow(t.ElemType, name); d != nil {
		return d
	}

	for _, f := range t.Fields {
		if d := declaredBelow(f.Type, name); d != nil {
			return d
		}
	}

	return nil
}
