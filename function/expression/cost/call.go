package cost

import (
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// A call that is metered.
type call struct {
	interpreter.InterpretableCall

	args    []interpreter.Interpretable
	binding *functions.Overload
	work    work
}

// Eval makes the call.
func (c *call) Eval(a interpreter.Activation) ref.Val {
	args, failed := c.evaluate(a)
	if failed != nil {
		return failed
	}

	meterOf(a).spend(perCall + c.work(args))

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
