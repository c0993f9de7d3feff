package expression

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// An evaluation evaluates one expression. It is the CEL activation, which has the values of the roots.
type evaluation struct {
	ctx  context.Context //nolint:containedctx // It lives as long as the evaluation.
	data *Data
	// known has the schemas of roots by name.
	known map[string]map[string]any
	// work is the spent work.
	work uint64
	// missed has the last missing place of each name, and list is the last list with a call of Size. They are used to
	// find the place of an error.
	missed map[string]*place
	list   *list
	// problem is the problem that has ended the evaluation.
	problem *Problem
}

// end ends the evaluation with a problem. It panics, and CEL recovers: CEL would continue after an error that does not
// affect the result, as in true || fail("…").
func (e *evaluation) end(problem *Problem) {
	e.problem = problem
	panic(interpreter.EvalCancelledError{Message: problem.Message})
}

// nameEvaluation is the variable of the activation that has the evaluation. Expressions cannot contain this name.
const nameEvaluation = "@evaluation"

// evaluationOf returns the evaluation of an activation, or of the activation around a comprehension.
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

	return e.value(place{name: name}, r.of(e.data), e.known[name]), true
}

func (e *evaluation) Parent() interpreter.Activation { return nil }

// local returns the result for a local. A problem of the local ends the evaluation.
func (e *evaluation) local(name string) local {
	l := e.data.Locals.local(e.ctx, name)
	if l.problem != nil {
		e.end(l.problem)
	}

	return l
}

// These functions spend work that CEL does without a call. Expressions cannot contain these names.
const (
	// functionKey wraps a computed key of a map, since a map reads the whole key to find an entry.
	functionKey = "@key"
	// functionRange wraps the range of a comprehension. It also sorts the keys of maps. Otherwise the value of an
	// expression, and the AnsibleRun with it, could change with each evaluation.
	functionRange = "@range"
)

// wrapKeysAndRanges wraps the keys and ranges of a parsed expression in calls of functionKey and functionRange.
func wrapKeysAndRanges(a *ast.AST) {
	factory, last := ast.NewExprFactory(), ast.MaxID(a)

	wrap := func(function string, e ast.Expr) {
		if e.Kind() == ast.LiteralKind && e.AsLiteral().Type() != types.BytesType {
			return // A literal is never longer than the expression.
		}

		last++
		arg := factory.NewUnspecifiedExpr(last)
		arg.SetKindCase(e)

		if at, ok := a.SourceInfo().GetOffsetRange(e.ID()); ok {
			a.SourceInfo().SetOffsetRange(last, at)
		}

		e.SetKindCase(factory.NewCall(e.ID(), function, arg))
	}

	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.CallKind:
			if name := e.AsCall().FunctionName(); name == operators.Index || name == operators.OptIndex {
				wrap(functionKey, e.AsCall().Args()[1])
			}
		case ast.MapKind:
			for _, entry := range e.AsMap().Entries() {
				wrap(functionKey, entry.AsMapEntry().Key())
			}
		case ast.ComprehensionKind:
			wrap(functionRange, e.AsComprehension().IterRange())
		}
	}))
}

// inOrder returns a map as an ordered map, and any other value unchanged.
func inOrder(v ref.Val) ref.Val {
	if m, ok := v.(traits.Mapper); ok {
		return ordered{Mapper: m}
	}

	return v
}

// ordered is a map that iterates in the order of its keys.
type ordered struct {
	traits.Mapper
}

// Iterator returns an iterator over the sorted keys.
func (o ordered) Iterator() traits.Iterator {
	var keys []ref.Val
	for it := o.Mapper.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}

	slices.SortFunc(keys, compareKeys)

	return types.NewRefValList(types.DefaultTypeAdapter, keys).Iterator()
}

// ranks has the order of the types of keys: booleans, numbers (0), strings.
var ranks = map[ref.Type]int{types.BoolType: -1, types.StringType: 1} //nolint:gochecknoglobals // It is a constant.

func compareKeys(a, b ref.Val) int {
	if c := cmp.Compare(ranks[a.Type()], ranks[b.Type()]); c != 0 {
		return c
	}

	n, _ := a.(traits.Comparer).Compare(b).(types.Int)

	return int(n)
}
