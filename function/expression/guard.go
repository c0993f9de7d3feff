package expression

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiserver/pkg/cel/library"
)

const (
	// perByte is the work that a byte of a string takes, in tenths.
	perByte = 10
	// messageWork is how errors of too much work start.
	messageWork = "this takes too much work"
)

// costs are Kubernetes' costs of functions, with those that it takes for cheap
// although they may not be.
type costs struct {
	library.CostEstimator
}

// CallCost of a function with these arguments.
func (c *costs) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	if work, ok := workOf(function, args); ok {
		return &work
	}

	return c.CostEstimator.CallCost(function, overload, args, result)
}

// workOf those functions that may take far more than their arguments are large,
// or whose result may be far larger.
func workOf(function string, args []ref.Val) (uint64, bool) {
	switch {
	case len(args) == 0:
		return 0, false
	case function == "lists.range":
		n, _ := args[0].(types.Int)
		return uint64(max(n, 0)), true
	case function == "size" || function == "charAt" || function == "reverse":
		return 1 + length(args[0])/perByte, true
	case function == "distinct":
		n := length(args[0])
		return 1 + n*n/4, true
	case strings.HasPrefix(function, "sets.") && len(args) == 2:
		return 1 + length(args[0])*length(args[1])/2, true
	case (function == overloads.Matches || function == "find" || function == "findAll") && len(args) > 1:
		return (1 + length(args[0])/perByte) * (1 + length(args[1])/4), true
	case function == "replace" && len(args) > 2:
		return 1 + replaced(args)/perByte, true
	case function == "join":
		return 1 + joined(args)/perByte, true
	case function == "format":
		return 1 + formatted(args)/perByte, true
	case function == "flatten":
		return 1 + flattened(args), true
	}

	return 0, false
}

// length of a string in bytes, or of a list.
func length(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(len(v))
	case types.Bytes:
		return uint64(len(v))
	case traits.Sizer:
		if n, ok := v.Size().(types.Int); ok {
			return uint64(max(n, 0))
		}
	}

	return 1
}

// replaced returns the length of s.replace(old, new).
func replaced(args []ref.Val) uint64 {
	s, _ := args[0].(types.String)
	old, _ := args[1].(types.String)

	return uint64(len(s)) + uint64(max(strings.Count(string(s), string(old)), 0))*length(args[2])
}

// joined returns the length of list.join(separator).
func joined(args []ref.Val) uint64 {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return 0
	}

	separator := uint64(0)
	if len(args) > 1 {
		separator = length(args[1])
	}

	n := uint64(0)
	for it := list.Iterator(); it.HasNext() == types.True; {
		n += length(it.Next()) + separator
	}

	return n
}

// formatted returns at least the length of string.format(list), apart from the
// items of the list: the text, with numbers as precise as it says.
func formatted(args []ref.Val) uint64 {
	s, _ := args[0].(types.String)
	n, digits := uint64(len(s)), uint64(0)

	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			n, digits = n+digits, 0
			continue
		}

		digits = min(digits*10+uint64(c-'0'), maxWork*perByte)
	}

	return n + digits
}

// flattened returns the number of items of list.flatten(depth), or some number
// beyond all limits.
func flattened(args []ref.Val) uint64 {
	depth := types.Int(1)
	if len(args) > 1 {
		depth, _ = args[1].(types.Int)
	}

	n := uint64(0)
	countItems(args[0], depth, &n)

	return n
}

func countItems(v ref.Val, depth types.Int, n *uint64) {
	list, ok := v.(traits.Lister)
	if !ok || depth < 0 {
		*n++
		return
	}

	for it := list.Iterator(); it.HasNext() == types.True && *n <= maxWork; {
		countItems(it.Next(), depth-1, n)
	}
}

// guard the functions of which workOf knows: they are not called with what
// would take too much work. CEL itself counts only when a call has returned.
func guard(env *cel.Env) (interpreter.InterpretableDecorator, error) {
	bindings := map[string]*functions.Overload{}

	for name, f := range env.Functions() {
		if !guarded(name) {
			continue
		}

		bs, err := f.Bindings()
		if err != nil {
			return nil, err
		}

		for _, b := range bs {
			bindings[b.Operator] = b
		}
	}

	return func(i interpreter.Interpretable) (interpreter.Interpretable, error) {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok || !guarded(call.Function()) {
			return i, nil
		}

		b := bindings[call.OverloadID()]
		if b == nil {
			b = bindings[call.Function()]
		}

		if b == nil {
			return i, nil
		}

		return &guardedCall{InterpretableCall: call, args: call.Args(), binding: b}, nil
	}, nil
}

func guarded(function string) bool {
	switch function {
	case "distinct", "replace", "join", "flatten", "find", "findAll", "lists.range", "format", overloads.Matches:
		return true
	}

	return strings.HasPrefix(function, "sets.")
}

// A guardedCall is not made when it would take too much work.
type guardedCall struct {
	interpreter.InterpretableCall

	args    []interpreter.Interpretable
	binding *functions.Overload
}

// Eval makes the call.
func (g *guardedCall) Eval(a interpreter.Activation) ref.Val {
	args := make([]ref.Val, len(g.args))

	for i := range g.args {
		args[i] = g.args[i].Eval(a)
		if types.IsUnknownOrError(args[i]) {
			return args[i]
		}
	}

	if work, ok := workOf(g.Function(), args); ok && work > maxWork {
		return types.NewErrWithNodeID(g.ID(), "%s", messageWork)
	}

	return types.LabelErrNode(g.ID(), g.call(args))
}

func (g *guardedCall) call(args []ref.Val) ref.Val {
	if trait := g.binding.OperandTrait; trait != 0 && !args[0].Type().HasTrait(trait) {
		return types.MaybeNoSuchOverloadErr(args[0])
	}

	switch {
	case len(args) == 1 && g.binding.Unary != nil:
		return g.binding.Unary(args[0])
	case len(args) == 2 && g.binding.Binary != nil:
		return g.binding.Binary(args[0], args[1])
	case g.binding.Function != nil:
		return g.binding.Function(args...)
	}

	return types.MaybeNoSuchOverloadErr(args[0])
}
