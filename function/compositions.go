package main

import (
	"crypto/sha256"

	"google.golang.org/protobuf/proto"
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
	// What cannot be encoded is text that is no UTF-8, which gRPC has refused already.
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(s)
	return sha256.Sum256(b)
}
