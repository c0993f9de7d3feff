package expression

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crossplane/function-sdk-go/errors"
)

// Locals are values that an input has names for. Each is JSON whose strings may
// hold expressions, those of other locals too.
type Locals struct {
	values map[string]any
	// templates by name, once they are compiled.
	templates map[string]*Template
	// declared says of which types they are, and loose that there are any.
	declared, loose *apiservercel.DeclType
}

// NewLocals returns Locals of these values by name, which are not compiled yet.
func NewLocals(values map[string]any) *Locals {
	names := slices.Collect(maps.Keys(values))

	return &Locals{
		values:    values,
		templates: map[string]*Template{},
		declared:  objectType("Locals", apiservercel.DynType, names...),
		loose:     objectType("Locals", apiservercel.DynType, names...),
	}
}

// CompileLocals compiles the Locals that this Environment declares: only then do
// this and others that declare the same know of which types they are. The errors
// are all mistakes in them, such as one that refers to itself.
func (e *Environment) CompileLocals(at *field.Path) field.ErrorList {
	e.named = true
	defer func() { e.named = false }()

	c := &localsCompiler{Environment: e, at: at, state: map[string]bool{}}

	for _, name := range slices.Sorted(maps.Keys(e.locals.values)) {
		c.compile(name)
	}

	return c.errs
}

// A localsCompiler compiles each local after those that it refers to.
type localsCompiler struct {
	*Environment

	at   *field.Path
	errs field.ErrorList
	// state is false for locals that are being compiled, and true for others that
	// were.
	state map[string]bool
	// chain of those that are being compiled.
	chain []string
}

func (c *localsCompiler) compile(name string) {
	v, ok := c.locals.values[name]
	if !ok || c.state[name] {
		return
	}

	if _, ok := c.state[name]; ok {
		cycle := append(c.chain[slices.Index(c.chain, name):], name) //nolint:gocritic // The chain is not used further.
		c.errs = append(c.errs, field.Invalid(c.at.Child(name), show(v), "a local cannot depend on itself: "+strings.Join(cycle, " → ")))

		return
	}

	c.state[name] = false
	c.chain = append(c.chain, name)

	for _, on := range c.refers(v) {
		c.compile(on)
	}

	t, errs := c.Compile(c.at.Child(name), v)
	c.errs = append(c.errs, errs...)
	c.locals.templates[name] = t
	c.locals.declared.Fields[name] = declare(name, c.declaredAs(t))

	c.chain = c.chain[:len(c.chain)-1]
	c.state[name] = true
}

// show a value in a message, if it is a text.
func show(v any) string {
	s, _ := v.(string)
	return s
}

// refers returns the names of the locals that the expressions in a value refer to.
func (c *localsCompiler) refers(v any) []string {
	var names []string

	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			names = append(names, c.refers(v[k])...)
		}
	case []any:
		for i := range v {
			names = append(names, c.refers(v[i])...)
		}
	case string:
		parts, _ := split(v)
		for _, p := range parts {
			if !p.expression {
				continue
			}

			// A mistake is told when it is compiled.
			parsed, issues := c.cel.Parse(p.text)
			if issues.Err() != nil {
				continue
			}

			ast.PreOrderVisit(ast.NavigateAST(parsed.NativeRep()), ast.NewExprVisitor(func(x ast.Expr) {
				if x.Kind() == ast.IdentKind && x.AsIdent() == rootLocals {
					name, _ := member(x)
					names = append(names, name)
				}
			}))
		}
	}

	return names
}

// declaredAs returns the type of a local.
func (e *Environment) declaredAs(t *Template) *apiservercel.DeclType {
	if p := t.expression(); p != nil {
		return e.declaredFor(p.output)
	}

	switch t.Type() {
	case Boolean:
		return apiservercel.BoolType
	case Integer:
		return apiservercel.IntType
	case Number:
		return apiservercel.DoubleType
	case String:
		return apiservercel.StringType
	case Array:
		return apiservercel.NewListType(apiservercel.DynType, -1)
	case Object:
		return apiservercel.NewMapType(apiservercel.StringType, apiservercel.DynType, -1)
	}

	return apiservercel.DynType
}

// declaredFor what an expression of CEL becomes as JSON.
func (e *Environment) declaredFor(t *cel.Type) *apiservercel.DeclType {
	switch t.Kind() {
	case types.BoolKind:
		return apiservercel.BoolType
	case types.IntKind, types.UintKind:
		return apiservercel.IntType
	case types.DoubleKind:
		return apiservercel.DoubleType
	case types.StringKind, types.BytesKind, types.DurationKind, types.TimestampKind:
		return apiservercel.StringType
	case types.ListKind:
		return apiservercel.NewListType(e.declaredFor(t.Parameters()[0]), -1)
	case types.MapKind:
		if t.Parameters()[0].Kind() == types.StringKind {
			return apiservercel.NewMapType(apiservercel.StringType, e.declaredFor(t.Parameters()[1]), -1)
		}
	case types.OpaqueKind:
		if in := inside(t); in.Kind() != types.OpaqueKind {
			return e.declaredFor(in)
		}
	case types.StructKind:
		if d := e.declaration(t); d != nil {
			return d
		}
	}

	return apiservercel.DynType
}

// refersTo adds what the locals refer to that an expression refers to.
func (e *Environment) refersTo(u uses) uses {
	for name := range u.locals {
		t := e.locals.templates[name]
		if t == nil {
			continue
		}

		for p := range t.programs {
			u.waits = u.waits || p.uses.waits
			// What the expression asks for itself is no news to it.
			add(u.runs, p.uses.runs)
			add(u.sets, p.uses.sets)
			add(u.required, p.uses.required)
			add(u.resources, p.uses.resources)
			u.computed = append(u.computed, p.uses.computed...)
		}
	}

	return u
}

func add(names, more map[string]bool) {
	for name, needed := range more {
		if was, ok := names[name]; !ok || was {
			names[name] = was || needed
		}
	}
}

// LocalValues are the values of Locals for an XR. Each is computed when it is asked
// for first, and then never again. They must not be used concurrently.
type LocalValues struct {
	locals *Locals
	data   Data
	values map[string]local
}

// A local has a value (true), is left out, or has a problem.
type local struct {
	value   any
	ok      bool
	problem *Problem
	// waits is true for one of which something may be there later.
	waits bool
}

// For data that their expressions see.
func (l *Locals) For(data Data) *LocalValues {
	v := &LocalValues{locals: l, data: data, values: map[string]local{}}
	// An integer stays one, and a double too.
	v.data.Locals, v.data.exact = v, true

	return v
}

// get the value of a local.
func (l *LocalValues) get(ctx context.Context, name string) local {
	if v, ok := l.values[name]; ok {
		return v
	}

	t := l.locals.templates[name]
	v, ok, problems := t.evaluate(ctx, &l.data)
	out := local{value: v, ok: ok}

	for p := range t.programs {
		out.waits = out.waits || p.uses.waits
	}

	if len(problems) > 0 {
		out.problem = &Problem{Kind: problems[0].Kind, Message: problems[0].String(), Plain: problems[0].Plain}
	}

	l.values[name] = out

	return out
}

// A scope is the root of locals as an evaluation sees it.
type scope struct {
	*object

	evaluation *evaluation
}

// Find the value of a local. One that has a problem ends the evaluation: whoever
// refers to it has no value either.
func (s scope) Find(key ref.Val) (ref.Val, bool) {
	name, _ := key.(types.String)
	values := s.evaluation.data.Locals

	if values == nil || values.locals.templates[string(name)] == nil {
		return nil, false
	}

	v := values.get(s.evaluation.ctx, string(name))
	at := place{name: string(name), waits: v.waits}

	switch {
	case v.problem != nil:
		s.evaluation.end(v.problem)
	case v.ok:
		return s.below(at, v.value, exact), true
	}

	at.up = &s.place
	s.lookups.missed = append(s.lookups.missed, at)

	return nil, false
}

// Get the value of a local.
func (s scope) Get(key ref.Val) ref.Val {
	if v, ok := s.Find(key); ok {
		return v
	}

	return types.NewErr("no such key: %v", key)
}

// Contains is true when a local has a value.
func (s scope) Contains(key ref.Val) ref.Val {
	_, ok := s.Find(key)
	return types.Bool(ok)
}

// LocalName says what is wrong with the name of a local.
func LocalName(name string) error {
	if !isSelectable(name) {
		return errors.New("the name of a local must be letters, digits and _, as in locals.fqdn")
	}

	return nil
}
