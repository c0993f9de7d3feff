package expression

import (
	"context"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// An evaluation of an expression. It is the activation, which knows the values of
// the roots.
type evaluation struct {
	ctx    context.Context //nolint:containedctx // It lives as long as the evaluation.
	data   *Data
	schema map[string]any
	// work that was spent.
	work uint64
	// missed are the last places at which nothing is, and list the last one that was asked for its size.
	missed []place
	list   *list
	// problem that has ended the evaluation, if one has.
	problem *Problem
}

// end the evaluation because of a problem.
func (e *evaluation) end(problem *Problem) {
	e.problem = problem
	panic(interpreter.EvalCancelledError{Message: problem.Message, Cause: failed})
}

// nameEvaluation is the name under which the activation has the evaluation. No expression can have such a name.
const nameEvaluation = "@evaluation"

// evaluationOf an activation, which may be that of a comprehension.
func evaluationOf(a interpreter.Activation) *evaluation {
	v, _ := a.ResolveName(nameEvaluation)
	e, _ := v.(*evaluation)

	return e
}

// ResolveName returns the value of a root.
func (e *evaluation) ResolveName(name string) (any, bool) {
	if name == nameEvaluation {
		return e, true
	}

	r, ok := roots[name]
	if !ok {
		return nil, false
	}

	at := view{place: place{name: name}, evaluation: e}
	if name == rootXR {
		at.schema = e.schema
	}

	return newObject(at, r.of(e.data)), true
}

// Parent is nil.
func (e *evaluation) Parent() interpreter.Activation {
	return nil
}

// local returns the value of a local, if there is one, and whether something in it may be there later. One that has a
// problem ends the evaluation: an expression that refers to it has no value either.
func (e *evaluation) local(name string) (v any, ok, waits bool) {
	if e.data.Locals == nil {
		return nil, false, false
	}

	l := e.data.Locals.local(e.ctx, name)
	if l.problem != nil {
		e.end(l.problem)
	}

	return l.value, l.ok, l.waits
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

		// CEL gives the index of a selection the id of the selection itself, and has to know it as an attribute.
		if attribute, ok := i.(interpreter.InterpretableAttribute); ok {
			return comprehendedAttribute{attribute}, nil
		}

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
	evaluationOf(a).spend(perTurn*length(v) + sorting(v))

	return inOrder(v)
}

// comprehendedAttribute is one that is an attribute, such as xr.spec.zones.
type comprehendedAttribute struct {
	interpreter.InterpretableAttribute
}

// Eval evaluates the attribute.
func (c comprehendedAttribute) Eval(a interpreter.Activation) ref.Val {
	return comprehended{c.InterpretableAttribute}.Eval(a)
}

// sorting returns the work to put the keys of a map in order: long ones are compared as far as they are equal.
func sorting(v ref.Val) uint64 {
	m, ok := v.(traits.Mapper)
	if !ok {
		return 0
	}

	if o, ok := v.(*object); ok {
		m = o.Mapper // It has no order yet.
	}

	n := uint64(0)
	for it := m.Iterator(); it.HasNext() == types.True; {
		weigh(it.Next(), &n)
	}

	return n
}
