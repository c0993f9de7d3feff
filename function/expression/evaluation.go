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

// An evaluation of an expression. It is the activation, which knows the values of
// the roots.
type evaluation struct {
	ctx  context.Context //nolint:containedctx // It lives as long as the evaluation.
	data *Data
	// known schemas of roots.
	known map[string]map[string]any
	// work that was spent.
	work uint64
	// missed are the last places at which nothing is, by name, and list the last one that was asked for its size.
	missed map[string]*place
	list   *list
	// problem that has ended the evaluation, if one has.
	problem *Problem
}

// end the evaluation because of a problem. There is no way to end one but by a panic that CEL expects: an expression
// goes on after an error where that does not matter, as true || fail("…") does.
func (e *evaluation) end(problem *Problem) {
	e.problem = problem
	panic(interpreter.EvalCancelledError{Message: problem.Message})
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

	return e.value(place{name: name}, r.of(e.data), e.known[name]), true
}

// Parent is nil.
func (e *evaluation) Parent() interpreter.Activation {
	return nil
}

// local of a name. One that has a problem ends the evaluation: an expression that refers to it has no value either.
func (e *evaluation) local(name string) local {
	l := e.data.Locals.local(e.ctx, name)
	if l.problem != nil {
		e.end(l.problem)
	}

	return l
}

// Functions that count what CEL does without a call. No expression can have such names.
const (
	// functionKey is that of what an expression computes as a key, of a map that it selects from or that it makes. A map
	// goes through all of a key, whatever kind of map it is and whether it has the key.
	functionKey = "@key"
	// functionRange is that of what a comprehension goes through. It has maps in the order of their keys: what an
	// expression makes of a map would change from call to call otherwise, and with it the AnsibleRun.
	functionRange = "@range"
)

// count the keys and ranges of a parsed expression as calls.
func count(a *ast.AST) {
	factory, last := ast.NewExprFactory(), ast.MaxID(a)

	as := func(function string, e ast.Expr) {
		if e.Kind() == ast.LiteralKind && e.AsLiteral().Type() != types.BytesType {
			return // It is as long as the expression at most.
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
				as(functionKey, e.AsCall().Args()[1])
			}
		case ast.MapKind:
			for _, entry := range e.AsMap().Entries() {
				as(functionKey, entry.AsMapEntry().Key())
			}
		case ast.ComprehensionKind:
			as(functionRange, e.AsComprehension().IterRange())
		}
	}))
}

// inOrder returns a map with iterators that go in the order of the keys, and any other value as it is.
func inOrder(v ref.Val) ref.Val {
	if m, ok := v.(traits.Mapper); ok {
		return ordered{Mapper: m}
	}

	return v
}

// ordered is a map with iterators that go in the order of the keys.
type ordered struct {
	traits.Mapper
}

// Iterator of the keys.
func (o ordered) Iterator() traits.Iterator {
	var keys []ref.Val
	for it := o.Mapper.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}

	slices.SortFunc(keys, compareKeys)

	return types.NewRefValList(types.DefaultTypeAdapter, keys).Iterator()
}

// ranks of the types of keys: truth values come before numbers, and texts after them.
var ranks = map[ref.Type]int{types.BoolType: -1, types.StringType: 1} //nolint:gochecknoglobals // It is a constant.

func compareKeys(a, b ref.Val) int {
	if c := cmp.Compare(ranks[a.Type()], ranks[b.Type()]); c != 0 {
		return c
	}

	n, _ := a.(traits.Comparer).Compare(b).(types.Int) // Keys can be compared.

	return int(n)
}
