package expression

import (
	"context"
	"maps"
	"slices"

	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression/value"
)

// Locals are values that an input has names for. Each is JSON with strings that may hold expressions, which may refer
// to other locals.
type Locals struct {
	values map[string]any
	// compiled locals by name.
	compiled map[string]*Template
	// declared says of which types they are, and loose that there are any.
	declared, loose *apiservercel.DeclType
}

// NewLocals returns Locals of these values by name, which are not compiled yet.
func NewLocals(values map[string]any) *Locals {
	names := slices.Collect(maps.Keys(values))

	return &Locals{
		values:   values,
		compiled: map[string]*Template{},
		declared: objectType("Locals", apiservercel.DynType, names...),
		loose:    objectType("Locals", apiservercel.DynType, names...),
	}
}

// LocalValues are the values of Locals for an XR. Each is computed when it is asked
// for first, and then never again. They must not be used concurrently.
type LocalValues struct {
	locals *Locals
	data   Data
	values map[string]local
}

// For data that their expressions see.
func (l *Locals) For(data Data) *LocalValues {
	v := &LocalValues{locals: l, data: data, values: map[string]local{}}
	// An integer stays one, and a double too.
	v.data.Locals, v.data.exact = v, true

	return v
}

// local of a name; false when there is none.
func (l *LocalValues) local(ctx context.Context, name string) (local, bool) {
	if v, ok := l.values[name]; ok {
		return v, true
	}

	compiled, known := l.locals.compiled[name]
	if !known {
		return local{}, false
	}

	v, ok, problems := compiled.evaluate(ctx, &l.data)
	out := local{value: v, ok: ok}

	for p := range compiled.programs {
		out.waits = out.waits || p.uses.waits
	}

	if len(problems) > 0 {
		out.problem = &Problem{Kind: problems[0].Kind, Message: problems[0].String(), Plain: problems[0].Plain}
	}

	l.values[name] = out

	return out, true
}

// Templates of the locals.
func (l *Locals) Templates() []*Template {
	return slices.Collect(maps.Values(l.compiled))
}

// at returns the local at a path, or the part of it that is written there, and the names of
// the path that lead further.
func (l *Locals) at(path []string) (*Template, []string) {
	t := &Template{fields: l.compiled}

	for len(path) > 0 && t.fields[path[0]] != nil {
		t, path = t.fields[path[0]], path[1:]
	}

	return t, path
}

// LocalName says what is wrong with the name of a local.
func LocalName(name string) error {
	if !value.IsSelectable(name) {
		return errors.New("the name of a local must be letters, digits and _, as in locals.fqdn")
	}

	return nil
}
