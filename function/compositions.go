package main

import (
	"crypto/sha256"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/lru"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/render"
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
	composition *render.Composition
	errs        field.ErrorList
}

// A key of an input, and of the scope and the schema of the XRs that it is
// compiled for.
type key struct {
	input, schema [sha256.Size]byte
	namespaced    bool
}

func newCompositions() (*compositions, error) {
	r, err := input.NewReader()
	return &compositions{reader: r, compiled: lru.New(maxCompositions)}, err
}

// Get the compiled input for XRs that are namespaced or cluster-scoped, and have
// this schema, if it is known. The field errors are the mistakes of the input.
func (c *compositions) Get(in *structpb.Struct, namespaced bool, schema *structpb.Struct) (*render.Composition, field.ErrorList, error) {
	k := key{namespaced: namespaced}

	var err error
	if k.input, err = digest(in); err != nil {
		return nil, nil, errors.Wrap(err, "cannot marshal the input")
	}

	if k.schema, err = digest(schema); err != nil {
		return nil, nil, errors.Wrap(err, "cannot marshal the schema of the XR")
	}

	if v, ok := c.compiled.Get(k); ok {
		got, _ := v.(compiled)
		return got.composition, got.errs, nil
	}

	got := c.compile(in, namespaced, schema)
	c.compiled.Add(k, got)

	return got.composition, got.errs, nil
}

func digest(s *structpb.Struct) ([sha256.Size]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(s)
	return sha256.Sum256(b), err
}

func (c *compositions) compile(in *structpb.Struct, namespaced bool, schema *structpb.Struct) compiled {
	object, errs := c.reader.Read(in)
	if object == nil {
		return compiled{errs: errs}
	}

	composition, cerrs := render.Compile(object, namespaced, expression.NewSchema(schema.AsMap()))
	errs = append(errs, cerrs...)

	return compiled{composition: composition, errs: errs}
}
