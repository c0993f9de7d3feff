package cost

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
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

// Decorator returns a decorator of programs that counts their work. The functions are those of the environment.
func Decorator(env *cel.Env) (interpreter.InterpretableDecorator, error) {
	known := map[string]call{}

	for name := range bounds {
		f := env.Functions()[name]
		if f == nil {
			continue
		}

		overloads, err := f.Bindings()
		if err != nil {
			return nil, err
		}

		// The last one chooses among all of them.
		for _, o := range overloads {
			known[name] = callOf(o)
		}
	}

	for name, c := range replaced {
		known[name] = c(known[name])
	}

	return func(i interpreter.Interpretable) (interpreter.Interpretable, error) {
		switch i := i.(type) {
		case *text:
			return i, nil
		case interpreter.InterpretableAttribute:
			return &text{InterpretableAttribute: i}, nil
		case interpreter.InterpretableCall:
			return counted(i, known), nil
		}

		return i, nil
	}, nil
}

// counted returns a call such that its work is counted.
func counted(i interpreter.InterpretableCall, known map[string]call) interpreter.Interpretable {
	price := uint64(perCall)
	if len(i.Args()) > 1 && strings.HasPrefix(i.Function(), "get") { // A part of a time in a zone.
		price += perZone
	}

	switch {
	case isSearch(i.Function()):
		return newSearch(i)
	case bounds[i.Function()] != nil:
		b := &bounded{Interpretable: i, args: i.Args(), work: bounds[i.Function()], call: known[i.Function()]}
		return &made{Interpretable: b, price: price}
	}

	return &made{Interpretable: i, price: price}
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
	case apiservercel.URL:
		return uint64(len(v.Host) + len(v.Path) + perUnit*len(v.RawQuery))
	case apiservercel.Semver:
		return perUnit * uint64(len(v.Pre)+len(v.Build))
	}

	return 0
}

// A call of a function.
type call func(args []ref.Val) ref.Val

// callOf an overload.
func callOf(o *functions.Overload) call {
	const two = 2

	return func(args []ref.Val) ref.Val {
		switch {
		case o.OperandTrait != 0 && !args[0].Type().HasTrait(o.OperandTrait):
		case len(args) == 1 && o.Unary != nil:
			return o.Unary(args[0])
		case len(args) == two && o.Binary != nil:
			return o.Binary(args[0], args[1])
		case o.Function != nil:
			return o.Function(args...)
		}

		return types.NewErr("no such overload: %s", o.Operator)
	}
}

// bounded is a call whose work is counted before it is made.
type bounded struct {
	interpreter.Interpretable

	args []interpreter.Interpretable
	work func(args []ref.Val) uint64
	call call
}

// Eval makes the call.
func (b *bounded) Eval(a interpreter.Activation) ref.Val {
	args, failed := evaluate(a, b.args)
	if failed != nil {
		return failed
	}

	meterOf(a).spend(b.work(args))

	return types.LabelErrNode(b.ID(), b.call(args))
}

// evaluate the arguments of a call. One that failed stands for the call.
func evaluate(a interpreter.Activation, args []interpreter.Interpretable) (values []ref.Val, failed ref.Val) {
	values = make([]ref.Val, len(args))

	for i, arg := range args {
		if values[i] = arg.Eval(a); types.IsUnknownOrError(values[i]) {
			return nil, values[i]
		}
	}

	return values, nil
}
