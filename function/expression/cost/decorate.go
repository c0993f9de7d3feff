package cost

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression/value"
)

// Calls returns a decorator of programs that counts the work of each call of a
// function, and only then makes the call. There is a call in every turn of a
// comprehension, so that none of them runs on for ever. The functions are those of
// the environment.
func Calls(env *cel.Env) (interpreter.InterpretableDecorator, error) {
	bindings := map[string]*functions.Overload{}

	for _, f := range env.Functions() {
		bs, err := f.Bindings()
		if err != nil {
			return nil, err
		}

		for _, b := range bs {
			bindings[b.Operator] = b
		}
	}

	// Those that CEL makes without a binding.
	equals := &functions.Overload{Binary: equal}
	notEquals := &functions.Overload{Binary: notEqual}
	bindings[operators.Equals], bindings[overloads.Equals] = equals, equals
	bindings[operators.NotEquals], bindings[overloads.NotEquals] = notEquals, notEquals

	// Of a map, in only asks for a key.
	in := *bindings[operators.In]
	contains := in.Binary
	in.Binary = func(a, b ref.Val) ref.Val {
		if _, ok := b.(traits.Lister); ok {
			return compare(contains, a, b)
		}

		return contains(a, b)
	}
	bindings[operators.In], bindings[overloads.InList] = &in, &in

	return func(i interpreter.Interpretable) (interpreter.Interpretable, error) {
		c, ok := i.(interpreter.InterpretableCall)
		if !ok {
			return i, nil
		}

		b := bindings[c.OverloadID()]
		if b == nil {
			b = bindings[c.Function()]
		}

		if b == nil {
			b = &functions.Overload{}
		}

		metered := &call{InterpretableCall: c, args: c.Args(), binding: b, work: workOf(c.Function())}
		if isSearch(c.Function()) {
			return newSearch(metered), nil
		}

		return metered, nil
	}, nil
}

func equal(a, b ref.Val) ref.Val { return compare(types.Equal, a, b) }

func notEqual(a, b ref.Val) ref.Val {
	v := equal(a, b)
	if is, ok := v.(types.Bool); ok {
		return !is
	}

	return v
}

// compare two values. What is not known in one of them is an error, whatever else differs.
func compare(by functions.BinaryOp, a, b ref.Val) ref.Val {
	for _, v := range []ref.Val{a, b} {
		if unknown, _ := value.Unknown(v); unknown != nil {
			return unknown
		}
	}

	return by(a, b)
}

// Range counts the turns of a comprehension that goes through a value.
func Range(a interpreter.Activation, v ref.Val) {
	meterOf(a).spend(perTurn * length(v))
}
