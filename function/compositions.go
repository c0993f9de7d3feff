package main

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/compile"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// maxCompositions are kept compiled. There is an input for each revision of a
// Composition that is in use.
const maxCompositions = 256

// compiled is an input, or what is wrong with it.
type compiled struct {
	plan *plan.Plan
	errs field.ErrorList
}

// A use of an input is what it is compiled for. Of the input and the schema of the XRs it has digests.
type use struct {
	input, schema [sha256.Size]byte
	// operation is true for Operations; all else is about XRs.
	operation bool
	// namespaced is true for namespaced XRs.
	namespaced bool
}

// compile an input for a use, with the schema of the XRs if it is known. What was compiled last is kept. The field
// errors are the mistakes of the input.
func (f *Function) compile(in, schema *structpb.Struct, u use) (*plan.Plan, field.ErrorList) {
	u.schema = digest(schema)

	if v, ok := f.compiled.Get(u); ok {
		got, _ := v.(compiled)
		return got.plan, got.errs
	}

	var got compiled

	object, errs := input.Read(in)

	switch {
	case object == nil:
		got.errs = errs
	case u.operation:
		p, cerrs := compile.Operation(object)
		got = compiled{plan: p, errs: input.Causes(object, append(errs, cerrs...))}
	default:
		p, cerrs := compile.Composition(object, u.namespaced, expression.Declarations{Schema: schema.AsMap()})
		got = compiled{plan: p, errs: input.Causes(object, append(errs, cerrs...))}
	}

	f.compiled.Add(u, got)

	return got.plan, got.errs
}

// digest of a struct: that of another one is another one.
func digest(s *structpb.Struct) [sha256.Size]byte {
	return sha256.Sum256(appendStruct(nil, s))
}

// appendStruct appends the fields in the order of their names. The deterministic encoding of the proto package
// takes several times as long.
func appendStruct(b []byte, s *structpb.Struct) []byte {
	b = binary.AppendUvarint(b, uint64(len(s.GetFields())))

	names := slices.AppendSeq(make([]string, 0, len(s.GetFields())), maps.Keys(s.GetFields()))
	slices.Sort(names)

	for _, k := range names {
		b = appendValue(appendString(b, k), s.GetFields()[k])
	}

	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendValue appends its kind, then the value, whose end is known from its start.
func appendValue(b []byte, v *structpb.Value) []byte {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		return appendStruct(append(b, 's'), k.StructValue)
	case *structpb.Value_ListValue:
		b = binary.AppendUvarint(append(b, 'l'), uint64(len(k.ListValue.GetValues())))
		for _, v := range k.ListValue.GetValues() {
			b = appendValue(b, v)
		}

		return b
	case *structpb.Value_StringValue:
		return appendString(append(b, 't'), k.StringValue)
	case *structpb.Value_NumberValue:
		return binary.BigEndian.AppendUint64(append(b, 'n'), math.Float64bits(k.NumberValue))
	case *structpb.Value_BoolValue:
		return strconv.AppendBool(append(b, 'b'), k.BoolValue)
	default:
		return append(b, '0')
	}
}
