package cost

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
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
	equals := &functions.Overload{Binary: types.Equal}
	notEquals := &functions.Overload{
		Binary: func(a, b ref.Val) ref.Val { return types.Bool(types.Equal(a, b) != types.True) },
	}
	bindings[operators.Equals], bindings[overloads.Equals] = equals, equals
	bindings[operators.NotEquals], bindings[overloads.NotEquals] = notEquals, notEquals

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

// Range counts the turns of a comprehension that goes through a value.
func Range(a interpreter.Activation, v ref.Val) {
	meterOf(a).spend(perTurn * length(v))
}
