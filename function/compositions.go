package main

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strconv"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/compile"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
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

	p, errs := compile.Input(in.AsMap(), u.namespaced,
		expression.Declarations{Schema: schema.AsMap(), Operation: u.operation})
	f.compiled.Add(u, compiled{p, errs})

	return p, errs
}

// digest of an object. Different objects have different digests.
func digest(o *structpb.Struct) [sha256.Size]byte { return sha256.Sum256(appendObject(nil, o)) }

// appendObject appends the bytes of an object. Different objects have different bytes: each text and list begins with
// its length. JSON takes three times as long.
func appendObject(b []byte, o *structpb.Struct) []byte {
	b = binary.AppendUvarint(append(b, '{'), uint64(len(o.GetFields())))
	for _, k := range manifest.SortedKeys(o.GetFields()) {
		b = appendValue(appendText(b, k), o.GetFields()[k])
	}

	return b
}

func appendValue(b []byte, v *structpb.Value) []byte {
	switch v := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		return appendObject(b, v.StructValue)
	case *structpb.Value_ListValue:
		b = binary.AppendUvarint(append(b, '['), uint64(len(v.ListValue.GetValues())))
		for _, item := range v.ListValue.GetValues() {
			b = appendValue(b, item)
		}

		return b
	case *structpb.Value_StringValue:
		return appendText(append(b, '"'), v.StringValue)
	case *structpb.Value_NumberValue:
		return binary.AppendUvarint(append(b, '0'), math.Float64bits(v.NumberValue))
	case *structpb.Value_BoolValue:
		return strconv.AppendBool(b, v.BoolValue)
	}

	return append(b, '-')
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
