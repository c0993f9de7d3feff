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

// maxCompositions is how many compiled inputs are cached. Each revision of a Composition in use has an input.
const maxCompositions = 256

// A compiled is the plan of an input, and its mistakes.
type compiled struct {
	plan *plan.Plan
	errs field.ErrorList
}

// A use is an input with all that its plan depends on. It is a key of the cache.
type use struct {
	// input and schema are digests of the input and the schema of the XR.
	input, schema [sha256.Size]byte
	// operation is true for an Operation.
	operation bool
	// namespaced is true for namespaced XRs.
	namespaced bool
}

// compile returns the plan of an input for a use, from the cache if possible, and the mistakes in the input. The schema
// of the XR is nil if it is unknown.
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

// digest returns a digest of an object. Equal objects have equal digests.
func digest(o *structpb.Struct) [sha256.Size]byte { return sha256.Sum256(appendObject(nil, o)) }

// appendObject appends an encoding of an object. The encodings of different objects differ, since each text and list
// begins with its length. JSON would take three times as long.
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
