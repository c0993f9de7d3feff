package expression

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Locals are the named values of an input. Each is JSON with strings that may contain expressions, which may refer to
// other locals.
type Locals struct {
	values map[string]any
	// compiled has the compiled locals by name, and schemas the schemas of all. The schema is nil before compilation.
	compiled map[string]*Template
	schemas  map[string]any

	// at is the path of the locals. chain has the names of locals in compilation, each of which refers to the next one.
	at    *field.Path
	chain []string
	errs  field.ErrorList
}

// NewLocals returns Locals of values by name, which are not compiled yet.
func NewLocals(values map[string]any) *Locals {
	l := &Locals{values: values, compiled: map[string]*Template{}, schemas: map[string]any{}}
	for name := range values {
		l.schemas[name] = nil
	}

	return l
}

// LocalValues are the values of Locals for an XR. Each is computed at its first use, and cached. They must not be used
// concurrently.
type LocalValues struct {
	locals *Locals
	data   Data
	values map[string]local
}

// For returns the values of the locals for the data of an XR.
func (l *Locals) For(data Data) *LocalValues {
	v := &LocalValues{locals: l, data: data, values: map[string]local{}}
	// Expressions must see integers of locals as integers, and doubles as doubles.
	v.data.Locals, v.data.exact = v, true

	return v
}

// local returns the cached result for a local, or computes it.
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

// waits is true for a local with an expression that refers to a value which may be set later, see uses.
func (l *LocalValues) waits(name string) bool { return l.locals.compiled[name].waits }

// Templates returns the compiled locals.
func (l *Locals) Templates() []*Template {
	return slices.Collect(maps.Values(l.compiled))
}

// find returns the template at a path below locals. For a path into the value of an expression, it is the template of
// the expression.
func (l *Locals) find(path []string) *Template {
	t := &Template{Fields: l.compiled}

	for len(path) > 0 && t.Fields[path[0]] != nil {
		t, path = t.Fields[path[0]], path[1:]
	}

	return t
}

// CompileLocals compiles the declared Locals. Afterwards, all Environments with these Locals know the types of their
// values. It returns all mistakes, such as a local that refers to itself.
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

// compileLocal compiles a local after the locals that it refers to, unless it is compiled already.
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
