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
	"k8s.io/utils/lru"

	"github.com/crossplane-ansible/crossplane-ansible/function/compile"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// maxCompositions are kept compiled. There is an input for each revision of a
// Composition that is in use.
const maxCompositions = 256

// compositions compiles inputs, and keeps those that were used last. It is safe
// for concurrent use.
type compositions struct {
	reader   *input.Reader
	compiled *lru.Cache
}

// compiled is an input, or what is wrong with it.
type compiled struct {
	plan *plan.Plan
	errs field.ErrorList
}

// A use of an input is what it is compiled for.
type use struct {
	// operation is true for Operations; all else is about XRs.
	operation bool
	// namespaced is true for namespaced XRs.
	namespaced bool
	// schema of the XRs, if it is known.
	schema *structpb.Struct
}

// A key of an input, and of what it is compiled for, its schema included.
type key struct {
	input, schema         [sha256.Size]byte
	operation, namespaced bool
}

func newCompositions() (*compositions, error) {
	r, err := input.NewReader()
	return &compositions{reader: r, compiled: lru.New(maxCompositions)}, err
}

// Get the compiled input, of which there is a digest, for a use. The field errors are the mistakes of the input.
func (c *compositions) Get(in *structpb.Struct, id [sha256.Size]byte, u use) (*plan.Plan, field.ErrorList) {
	k := key{input: id, schema: digest(u.schema), operation: u.operation, namespaced: u.namespaced}

	if v, ok := c.compiled.Get(k); ok {
		got, _ := v.(compiled)
		return got.plan, got.errs
	}

	got := c.compile(in, u)
	c.compiled.Add(k, got)

	return got.plan, got.errs
}

func (c *compositions) compile(in *structpb.Struct, u use) compiled {
	object, errs := c.reader.Read(in)
	if object == nil {
		return compiled{errs: errs}
	}

	var (
		p     *plan.Plan
		cerrs field.ErrorList
	)

	if u.operation {
		p, cerrs = compile.Operation(object)
	} else {
		p, cerrs = compile.Composition(object, u.namespaced, expression.Declarations{Schema: u.schema.AsMap()})
	}

	return compiled{plan: p, errs: input.Causes(object, append(errs, cerrs...))}
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
