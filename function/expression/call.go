package expression

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// meter the calls of all functions of a CEL environment: each is made only when
// there is an allowance for the work that it takes. There is a call in every
// turn of a comprehension, so that none of them runs on for ever.
func meter(env *cel.Env) (interpreter.InterpretableDecorator, error) {
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
	notEquals := &functions.Overload{Binary: func(a, b ref.Val) ref.Val { return types.Bool(types.Equal(a, b) != types.True) }}
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

		metered := &call{InterpretableCall: c, args: c.Args(), binding: b}
		if isSearch(c.Function()) {
			return newSearch(metered), nil
		}

		return metered, nil
	}, nil
}

// A call that is metered.
type call struct {
	interpreter.InterpretableCall

	args    []interpreter.Interpretable
	binding *functions.Overload
}

// Eval makes the call.
func (c *call) Eval(a interpreter.Activation) ref.Val {
	args, failed := c.evaluate(a)
	if failed != nil {
		return failed
	}

	spender(a)(workOf(c.Function(), args))

	return types.LabelErrNode(c.ID(), c.make(args))
}

// evaluate the arguments. One that failed stands for the call, where that needs
// them all.
func (c *call) evaluate(a interpreter.Activation) (args []ref.Val, failed ref.Val) {
	args = make([]ref.Val, 0, len(c.args))

	for _, arg := range c.args {
		v := arg.Eval(a)
		if types.IsUnknownOrError(v) && !c.binding.NonStrict {
			return nil, v
		}

		args = append(args, v)
	}

	return args, nil
}

// spender returns what takes the work of a call from its evaluation. Constants
// are evaluated without one.
func spender(a interpreter.Activation) func(work uint64) {
	if e, ok := a.ResolveName(nameEvaluation); ok {
		if e, ok := e.(*evaluation); ok {
			return e.spend
		}
	}

	return func(uint64) {}
}

func (c *call) make(args []ref.Val) ref.Val {
	b := c.binding

	if c.Function() == operators.Add {
		if sum, ok := concatenate(args); ok {
			return sum
		}
	}

	if trait := b.OperandTrait; trait == 0 || args[0].Type().HasTrait(trait) {
		switch {
		case len(args) == 1 && b.Unary != nil:
			return b.Unary(args[0])
		case len(args) == 2 && b.Binary != nil:
			return b.Binary(args[0], args[1])
		case b.Function != nil:
			return b.Function(args...)
		}
	}

	if len(args) > 0 && args[0].Type().HasTrait(traits.ReceiverType) {
		if r, ok := args[0].(traits.Receiver); ok {
			return r.Receive(c.Function(), c.OverloadID(), args[1:])
		}
	}

	return types.NewErr("no such overload: %s", c.Function())
}

// concatenate two lists. CEL's own sum of two looks into both each time, so that
// one with itself, again and again, takes for ever.
func concatenate(args []ref.Val) (ref.Val, bool) {
	const operands = 2

	if len(args) != operands {
		return nil, false
	}

	// A comprehension adds to its result in place.
	if _, ok := args[0].(traits.MutableLister); ok {
		return nil, false
	}

	var values []ref.Val

	for _, arg := range args {
		list, ok := arg.(traits.Lister)
		if !ok {
			return nil, false
		}

		for it := list.Iterator(); it.HasNext() == types.True; {
			values = append(values, it.Next())
		}
	}

	return types.NewRefValList(types.DefaultTypeAdapter, values), true
}
