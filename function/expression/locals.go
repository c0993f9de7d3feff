package expression

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Locals are values that an input has names for. Each is JSON with strings that may hold expressions, which may refer
// to other locals.
type Locals struct {
	values map[string]any
	// compiled locals by name, and their schemas: any one that is not compiled yet may be anything.
	compiled map[string]*Template
	schemas  map[string]any

	// at is where they are written, chain are the names of those that are being compiled, and errs their mistakes.
	at    *field.Path
	chain []string
	errs  field.ErrorList
}

// NewLocals returns Locals of these values by name, which are not compiled yet.
func NewLocals(values map[string]any) *Locals {
	l := &Locals{values: values, compiled: map[string]*Template{}, schemas: map[string]any{}}
	for name := range values {
		l.schemas[name] = nil
	}

	return l
}

// LocalValues are the values of Locals for an XR. Each is computed when it is asked for first, and then never again.
// They must not be used concurrently.
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

// local of a name.
func (l *LocalValues) local(ctx context.Context, name string) local {
	if v, ok := l.values[name]; ok {
		return v
	}

	v, ok, problems := l.locals.compiled[name].evaluate(ctx, &l.data)
	out := local{value: v, ok: ok}

	if len(problems) > 0 {
		out.problem = &Problem{Kind: problems[0].Kind, Message: problems[0].String(), Plain: problems[0].Plain}
	}

	l.values[name] = out

	return out
}

// waits is true for a local of which something may be there later.
func (l *LocalValues) waits(name string) bool { return l.locals.compiled[name].waits }

// Templates of the locals.
func (l *Locals) Templates() []*Template {
	return slices.Collect(maps.Values(l.compiled))
}

// find returns the local at a path, or the part of it that is written there.
func (l *Locals) find(path []string) *Template {
	t := &Template{Fields: l.compiled}

	for len(path) > 0 && t.Fields[path[0]] != nil {
		t, path = t.Fields[path[0]], path[1:]
	}

	return t
}

// CompileLocals compiles the Locals that this Environment declares: only then do this and others that declare the same
// know of which types they are. The errors are all mistakes in them, such as one that refers to itself.
func (e *Environment) CompileLocals(at *field.Path) field.ErrorList {
	l := e.declared.Locals
	l.at = at

	for _, name := range slices.Sorted(maps.Keys(l.values)) {
		e.compileLocal(name)

		if !isSelectable(name) {
			l.errs = append(l.errs, field.Invalid(at.Child(name), name,
				"the name of a local must be letters, digits and _, as in locals.fqdn"))
		}
	}

	return l.errs
}

// compileLocal compiles a local, once, after those that it refers to.
func (e *Environment) compileLocal(name string) {
	l := e.declared.Locals

	v, known := l.values[name]
	if !known || l.compiled[name] != nil {
		return
	}

	if i := slices.Index(l.chain, name); i >= 0 {
		text, _ := v.(string)
		l.errs = append(l.errs, field.Invalid(l.at.Child(name), text,
			"a local cannot depend on itself: "+strings.Join(append(slices.Clone(l.chain[i:]), name), " → ")))

		return
	}

	l.chain = append(l.chain, name)
	t, errs := e.Compile(l.at.Child(name), v)
	l.chain = l.chain[:len(l.chain)-1]

	l.errs = append(l.errs, errs...)
	l.compiled[name], l.schemas[name] = t, t.schema
}
