package expression

import (
	"context"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression/cost"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression/library"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression/value"
)

// An evaluation of an expression. It is the activation, which knows the values of
// the roots.
type evaluation struct {
	ctx     context.Context //nolint:containedctx // It lives as long as the evaluation.
	data    *Data
	shape   *value.Shape
	meter   cost.Meter
	lookups value.Lookups
	// problem that has ended the evaluation, if one has.
	problem *Problem
}

// end the evaluation because of a problem.
func (e *evaluation) end(problem *Problem) {
	e.problem = problem
	panic(interpreter.EvalCancelledError{Message: problem.Message, Cause: library.Failed})
}

// ResolveName returns the value of a root.
func (e *evaluation) ResolveName(name string) (any, bool) {
	switch name {
	case cost.MeterName:
		return &e.meter, true
	case rootLocals:
		return scope{Object: value.Root(name, nil, nil, &e.lookups), evaluation: e}, true
	case rootXR:
		return value.Root(name, e.data.XR, e.shape, &e.lookups), true
	}

	r, ok := roots[name]
	if !ok {
		return nil, false
	}

	return value.Root(name, r.of(e.data), nil, &e.lookups), true
}

// Parent is nil.
func (e *evaluation) Parent() interpreter.Activation {
	return nil
}

// A scope is the root of locals as an evaluation sees it.
type scope struct {
	*value.Object

	evaluation *evaluation
}

// Find the value of a local. One that has a problem ends the evaluation: an
// expression that refers to it has no value either.
func (s scope) Find(key ref.Val) (ref.Val, bool) {
	if s.evaluation.data.Locals == nil {
		return nil, false
	}

	name, _ := key.(types.String)

	v, known := s.evaluation.data.Locals.local(s.evaluation.ctx, string(name))

	switch {
	case !known:
		return nil, false
	case v.problem != nil:
		s.evaluation.end(v.problem)
	case v.ok:
		return s.Member(string(name), v.value, v.waits), true
	}

	s.Miss(string(name), v.waits)

	return nil, false
}

// Get the value of a local.
func (s scope) Get(key ref.Val) ref.Val {
	if v, ok := s.Find(key); ok {
		return v
	}

	return value.NoSuchKey(key)
}

// Contains is true when a local has a value.
func (s scope) Contains(key ref.Val) ref.Val {
	_, ok := s.Find(key)
	return types.Bool(ok)
}

// ranges returns a decorator of what the comprehensions of an expression go through:
// it counts their turns, and has maps in the order of their keys. What an expression
// makes of a map would change from call to call otherwise, and with it the
// AnsibleRun.
func ranges(a *ast.AST) interpreter.InterpretableDecorator {
	ids := map[int64]bool{}

	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			ids[e.AsComprehension().IterRange().ID()] = true
		}
	}))

	return func(i interpreter.Interpretable) (interpreter.Interpretable, error) {
		if !ids[i.ID()] {
			return i, nil
		}

		// Where something has to be a range, it is not selected from.
		return comprehended{Interpretable: i}, nil
	}
}

// comprehended is an expression that a comprehension goes through.
type comprehended struct {
	interpreter.Interpretable
}

// Eval evaluates the expression.
func (c comprehended) Eval(a interpreter.Activation) ref.Val {
	v := c.Interpretable.Eval(a)
	cost.Range(a, v)

	return value.InOrder(v)
}
