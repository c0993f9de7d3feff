package expression

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// keys returns a decorator of what an expression computes as a key, of a map that it selects from or that it makes. A
// map goes through all of a key, whatever kind of map it is and whether it has the key.
func keys(env *cel.Env, a *ast.AST) interpreter.InterpretableDecorator {
	ids := map[int64]bool{}

	// A literal is as long as the expression at most.
	add := func(key ast.Expr) { ids[key.ID()] = ids[key.ID()] || key.Kind() != ast.LiteralKind }

	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.CallKind:
			if name := e.AsCall().FunctionName(); name == operators.Index || name == operators.OptIndex {
				add(e.AsCall().Args()[1])
			}
		case ast.MapKind:
			for _, entry := range e.AsMap().Entries() {
				add(entry.AsMapEntry().Key())
			}
		}
	}))

	attributes := interpreter.NewAttributeFactory(env.Container, env.CELTypeAdapter(), env.CELTypeProvider())

	return func(i interpreter.Interpretable) (interpreter.Interpretable, error) {
		if !ids[i.ID()] {
			return i, nil
		}

		counted := key{Interpretable: i}
		// CEL has to know an attribute as one.
		if attribute, ok := i.(interpreter.InterpretableAttribute); ok {
			return selector{
				InterpretableAttribute: attribute, key: attributes.RelativeAttribute(i.ID(), counted), counted: counted,
			}, nil
		}

		return counted, nil
	}
}

// A key of a map is an expression. To go through its value is work.
type key struct {
	interpreter.Interpretable
}

// Eval evaluates the expression.
func (k key) Eval(a interpreter.Activation) ref.Val {
	v := k.Interpretable.Eval(a)
	evaluationOf(a).spend(weight(v))

	return v
}

// A selector is a key that is an attribute, such as xr.spec.size. CEL does not evaluate it to select by it.
type selector struct {
	interpreter.InterpretableAttribute

	key     interpreter.Attribute
	counted key
}

// Eval evaluates the key.
func (s selector) Eval(a interpreter.Activation) ref.Val { return s.counted.Eval(a) }

// Qualify selects from a map.
func (s selector) Qualify(a interpreter.Activation, from any) (any, error) {
	return s.key.Qualify(a, from)
}

// QualifyIfPresent selects from a map that may not have the key.
func (s selector) QualifyIfPresent(a interpreter.Activation, from any, only bool) (v any, ok bool, err error) {
	return s.key.QualifyIfPresent(a, from, only)
}
