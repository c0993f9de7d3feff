package main

import (
	"crypto/sha256"
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/compile"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
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
func (f *Function) compile(in, schema map[string]any, u use) (*plan.Plan, field.ErrorList) {
	u.schema = digest(schema)

	if v, ok := f.compiled.Get(u); ok {
		got, _ := v.(compiled)
		return got.plan, got.errs
	}

	p, errs := compile.Input(in, u.namespaced, expression.Declarations{Schema: schema, Operation: u.operation})
	f.compiled.Add(u, compiled{p, errs})

	return p, errs
}

// digest of a JSON value: that of another one is another one.
func digest(v map[string]any) [sha256.Size]byte {
	b, _ := json.Marshal(v) //nolint:errchkjson // Core makes it of JSON, which has no NaN.
	return sha256.Sum256(b)
}
