package cost

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

const (
	// perCall is the work of the least call.
	perCall = 5
	// perZone is the work to read the rules of a time zone from a file.
	perZone = 300
)

// A call of a function, which spends the work that it takes before it is made.
type call func(args []ref.Val, spend func(work uint64)) ref.Val

// Decorator returns a decorator of programs that counts their work. The functions are those of the environment.
func Decorator(env *cel.Env) (interpreter.InterpretableDecorator, error) {
	calls := map[string]call{}

	for name, work := range bounds {
		function, err := functionOf(env, name)
		if err != nil {
			return nil, err
		}

		calls[name] = func(args []ref.Val, spend func(uint64)) ref.Val {
			spend(work(args))
			return function(args)
		}
	}

	for _, name := range searches {
		calls[name] = searchOf(name)
	}

	return func(i interpreter.Interpretable) (interpreter.Interpretable, error) {
		switch i := i.(type) {
		case *text:
			return i, nil
		case interpreter.InterpretableAttribute:
			return &text{InterpretableAttribute: i}, nil
		case interpreter.InterpretableCall:
			m := &made{Interpretable: i, price: perCall}
			if len(i.Args()) > 1 && strings.HasPrefix(i.Function(), "get") { // A part of a time in a zone.
				m.price += perZone
			}

			if bound := calls[i.Function()]; bound != nil {
				m.Interpretable = &bounded{Interpretable: i, args: i.Args(), call: bound}
			}

			return m, nil
		}

		return i, nil
	}, nil
}

// functionOf an environment.
func functionOf(env *cel.Env, name string) (func(args []ref.Val) ref.Val, error) {
	const two = 2

	overloads, err := env.Functions()[name].Bindings()
	if err != nil {
		return nil, err
	}

	function := func(args []ref.Val) ref.Val {
		o := overloads[len(overloads)-1] // It chooses among all of them.

		switch {
		case o.OperandTrait != 0 && !args[0].Type().HasTrait(o.OperandTrait):
		case len(args) == 1 && o.Unary != nil:
			return o.Unary(args[0])
		case len(args) == two && o.Binary != nil:
			return o.Binary(args[0], args[1])
		case o.Function != nil:
			return o.Function(args...)
		}

		return types.NewErr("no such overload: %s", name)
	}

	switch name {
	case operators.Equals:
		return equal, nil
	case operators.NotEquals:
		return notEqual, nil
	case operators.Add:
		return add, nil
	case operators.In:
		return func(args []ref.Val) ref.Val { return in(function, args) }, nil
	}

	return function, nil
}

// meterOf an evaluation.
func meterOf(a interpreter.Activation) *Meter {
	v, _ := a.ResolveName(MeterName)
	m, _ := v.(*Meter)

	return m
}

// Range counts the turns of a comprehension that goes through a value.
func Range(a interpreter.Activation, v ref.Val) { meterOf(a).spend(perTurn * length(v)) }

// A text is a value that an expression looks at. It costs something if it is a text.
type text struct {
	interpreter.InterpretableAttribute
}

// Eval returns the value.
func (t *text) Eval(a interpreter.Activation) ref.Val {
	v := t.InterpretableAttribute.Eval(a)
	if n := size(v); n >= perUnit {
		meterOf(a).spend(n / perUnit)
	}

	return v
}

// Qualify selects what has this name.
func (t *text) Qualify(a interpreter.Activation, of any) (any, error) {
	t.Eval(a)
	return t.InterpretableAttribute.Qualify(a, of)
}

// QualifyIfPresent selects what has this name, if something has.
func (t *text) QualifyIfPresent(a interpreter.Activation, of any, asks bool) (v any, found bool, err error) {
	t.Eval(a)
	return t.InterpretableAttribute.QualifyIfPresent(a, of, asks)
}

// made is a call that costs a little, and its result if that is a text.
type made struct {
	interpreter.Interpretable

	price uint64
}

// Eval makes the call.
func (m *made) Eval(a interpreter.Activation) ref.Val {
	meter := meterOf(a)
	meter.spend(m.price)

	v := m.Interpretable.Eval(a)
	meter.spend(size(v) / perUnit)

	return v
}

// size in bytes of a text, and of what was made of one.
func size(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(len(v))
	case types.Bytes:
		return uint64(len(v))
	case *types.Optional:
		if v.HasValue() {
			return size(v.GetValue())
		}
	case apiservercel.URL:
		return uint64(len(v.Host) + len(v.Path) + perUnit*len(v.RawQuery))
	case apiservercel.Semver:
		return perUnit * uint64(len(v.Pre)+len(v.Build))
	}

	return 0
}

// bounded is a call that is made in another way than CEL makes it.
type bounded struct {
	interpreter.Interpretable

	args []interpreter.Interpretable
	call call
}

// Eval makes the call. An argument that failed stands for it.
func (b *bounded) Eval(a interpreter.Activation) ref.Val {
	args := make([]ref.Val, len(b.args))

	for i, arg := range b.args {
		if args[i] = arg.Eval(a); types.IsUnknownOrError(args[i]) {
			return args[i]
		}
	}

	return types.LabelErrNode(b.ID(), b.call(args, meterOf(a).spend))
}
