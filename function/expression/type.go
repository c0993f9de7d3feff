package expression

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
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
