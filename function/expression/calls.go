package expression

import (
	"cmp"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

// The work of calls, in units.
const (
	// perCall is the minimum work of a call.
	perCall = 5
	// perTurn is the work of an iteration of a comprehension without its calls.
	perTurn = 3
	// perZone is the work to read the rules of a time zone from a file.
	perZone = 300
	// maxShort is the maximum length of a quantity or a version in bytes: arithmetic goes digit by digit.
	maxShort = 256
	// perJSON is the factor of the work to encode or decode JSON, compared to one pass over the value.
	perJSON = 10
	// perClause is the maximum size in bytes of a number in a format clause such as %.999f. The time is proportional.
	perClause = 1320
	// perSteps is the number of instructions of a regular expression that one unit of work executes.
	perSteps = 16
)

// A call spends its estimated work before the function runs. Authors of XRs choose the arguments, so a short expression
// could otherwise take unlimited time or memory.
//
// CEL's own limit (cel.CostLimit) is not used. It counts a call only after the function has run, when
// lists.range(xr.spec.billion) has already taken all memory. Its own time is quadratic in the iterations of a
// comprehension: it searches a stack with the values of all earlier iterations.
type call struct {
	interpreter.InterpretableCall

	args    []interpreter.Interpretable
	binding *functions.Overload
}

// limited returns a decorator of CEL programs that limits the work of all calls of functions of env.
func limited(env *cel.Env) interpreter.InterpretableDecorator {
	return func(i interpreter.Interpretable) (interpreter.Interpretable, error) {
		made, ok := i.(interpreter.InterpretableCall)
		if !ok || len(made.Args()) == 0 {
			return i, nil
		}

		switch made.Function() {
		case overloads.Matches, "find", "findAll":
			return searchOf(made)
		}

		bindings, err := env.Functions()[made.Function()].Bindings()
		if err != nil || len(bindings) == 0 {
			return i, err
		}

		// The last binding dispatches to all overloads.
		binding := bindings[len(bindings)-1]
		if binding.NonStrict {
			return i, nil
		}

		return &call{InterpretableCall: made, args: made.Args(), binding: binding}, nil
	}
}

// Eval returns the first argument that is an error, or else the result of the function. An error spends work, too: a
// comprehension may continue after it.
func (c *call) Eval(a interpreter.Activation) ref.Val {
	args := make([]ref.Val, len(c.args))

	for i, arg := range c.args {
		if args[i] = arg.Eval(a); types.IsUnknownOrError(args[i]) {
			evaluationOf(a).spend(perCall)

			return args[i]
		}
	}

	return types.LabelErrNode(c.ID(), c.invoke(evaluationOf(a), args))
}

// compares has the functions that compare values.
var compares = map[string]bool{ //nolint:gochecknoglobals // It is a constant.
	operators.Equals: true, operators.NotEquals: true, operators.In: true, "distinct": true, "indexOf": true,
	"lastIndexOf": true, "sets.contains": true, "sets.equivalent": true, "sets.intersects": true,
}

// invoke spends the work of the call, and runs the function.
func (c *call) invoke(e *evaluation, args []ref.Val) ref.Val {
	const two = 2

	name := c.Function()
	work, unusable := workOf(name, args)
	e.spend(work)

	// key in map does not compare the values of the map, so they may be unusable.
	_, isMap := args[len(args)-1].(traits.Mapper)
	if unusable != nil && compares[name] && (name != operators.In || !isMap) {
		return unusable
	}

	switch {
	case name == functionFail: // A CEL error would be ignored in true || fail("…").
		message, _ := args[0].(types.String)
		_, isLiteral := c.args[0].(interpreter.InterpretableConst)
		e.end(&Problem{Kind: Invalid, Message: clip.Text(string(message), maxMessage), Plain: isLiteral})
	case name == operators.Equals:
		return types.Equal(args[0], args[1])
	case name == operators.NotEquals:
		if is, ok := types.Equal(args[0], args[1]).(types.Bool); ok {
			return !is
		}
	case c.binding.OperandTrait != 0 && !args[0].Type().HasTrait(c.binding.OperandTrait):
	case len(args) == 1 && c.binding.Unary != nil:
		return c.binding.Unary(args[0])
	case len(args) == two && c.binding.Binary != nil:
		return c.binding.Binary(args[0], args[1])
	case c.binding.Function != nil:
		return c.binding.Function(args...)
	}

	return types.NewErr("no such overload: %s", name)
}

// workOf returns the work of a call: one pass over its arguments, and more for some functions. The value is the first
// error inside of the arguments; nil for none.
func workOf(function string, args []ref.Val) (uint64, ref.Val) {
	w := weigher{}

	if function == functionRange {
		if m, ok := args[0].(traits.Mapper); ok {
			// Keys are sorted: the comparison of long keys takes time.
			for it := m.Iterator(); it.HasNext() == types.True; {
				w.weigh(it.Next())
			}
		}

		return w.work + perTurn*length(args[0]), nil
	}

	for _, arg := range args {
		w.weigh(arg)
	}

	n, first, others := perCall+w.work, length(args[0]), uint64(0)
	for _, arg := range args[1:] {
		others += length(arg)
	}

	switch function {
	case "lists.range":
		length, _ := args[0].(types.Int)
		n += uint64(max(length, 0))
	case "distinct", "sets.contains", "sets.equivalent", "sets.intersects":
		n += n * first / 2
	case "indexOf", "lastIndexOf", "replace", "join":
		n += first * others / perUnit
	case "format":
		n *= w.deepest // Each level of a value is written again into the one around it.
		format, _ := args[0].(types.String)

		n += textWork(strings.Count(string(format), "%") * perClause)

		if precision.MatchString(string(format)) {
			n += maxWork
		}
	case "quantity", "isQuantity", "semver", "isSemver":
		text, _ := args[0].(types.String)
		if first > maxShort || exponent.MatchString(string(text)) {
			n += maxWork
		}
	case "split":
		n += first
	case functionMerge:
		n += PerField * (first + others)
	case functionJSONMarshal, functionJSONUnmarshal:
		n *= perJSON
	default:
		if strings.HasPrefix(function, "get") && len(args) > 1 {
			n += perZone
		}
	}

	return n, w.unusable
}

// precision and exponent match numbers of too many digits: a precision of four digits or more in a format string, and
// an exponent of three digits or more in a quantity.
var (
	precision = regexp.MustCompile(`%\.[0-9]{4}`)
	exponent  = regexp.MustCompile(`^[-+]?[0-9.]+[eE][-+]?[0-9]{3}`)
)

// A weigher computes the work of one pass over values with all their items and fields. It stops at maxWork.
type weigher struct {
	work uint64
	// depth of the value that is weighed, and of the deepest one.
	depth, deepest uint64
	// unusable is the first error in the values, in the order of map keys, for example for an Unknown value.
	unusable ref.Val
}

func (w *weigher) weigh(v ref.Val) {
	w.work++
	w.depth++
	w.deepest = max(w.deepest, w.depth)

	switch v := v.(type) {
	case *types.Err:
		w.unusable = cmp.Or(w.unusable, ref.Val(v))
	case types.String:
		w.work += textWork(len(v))
	case types.Bytes:
		w.work += textWork(len(v))
	case *types.Optional:
		if v.HasValue() {
			w.weigh(v.GetValue())
		}
	case apiservercel.URL:
		w.work += textWork(len(v.Host) + len(v.Path) + perUnit*len(v.RawQuery))
	case traits.MutableLister, traits.MutableMapper:
		// A comprehension appends to this result in place, without a pass over it.
	case traits.Lister:
		w.work += perCall // A list and its iterator are allocated.
		for it := v.Iterator(); it.HasNext() == types.True && w.work <= maxWork; {
			w.weigh(it.Next())
		}
	case traits.Mapper:
		w.work += perCall // A map, its iterator and its keys are allocated.
		for it := (ordered{v}).Iterator(); it.HasNext() == types.True && w.work <= maxWork; {
			key := it.Next()
			w.weigh(key)
			w.weigh(v.Get(key))
		}
	}

	w.depth--
}

// length returns the length of a string in bytes, or the number of items of a list or a map; 1 for other values.
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

// searched is the operand of a search for a regular expression. Its evaluation spends the work of the search.
type searched struct {
	interpreter.Interpretable

	// size is the number of instructions of the regular expression.
	size uint64
	// all is true for a search for all matches.
	all bool
}

// Eval returns the string to search.
func (s *searched) Eval(a interpreter.Activation) ref.Val {
	const overhead, half = 3, 2

	text := s.Interpretable.Eval(a)
	bytes := length(text)
	work := perCall + (bytes+1)*(overhead+s.size)/perSteps

	if s.all {
		// The search after each match may read the whole rest of the string, which is half of it on average.
		work *= 1 + bytes/half
	}

	evaluationOf(a).spend(work)

	return text
}

// searchOf returns a call that spends the work of a search for a regular expression. The expression must be literal, so
// that CEL compiles it once: a short one from an XR could become a large program.
func searchOf(made interpreter.InterpretableCall) (interpreter.Interpretable, error) {
	args := slices.Clone(made.Args())

	literal, ok := args[1].(interpreter.InterpretableConst)
	if !ok {
		return nil, errors.Errorf(
			"the regular expression of %[1]s must be literal, as in xr.metadata.name.%[1]s('^[a-z]+'); to look for a text, "+
				"write contains, startsWith or ==", made.Function())
	}

	source, _ := literal.Value().(types.String)

	parsed, err := syntax.Parse(string(source), syntax.Perl)
	if err != nil {
		return nil, err
	}

	program, err := syntax.Compile(parsed.Simplify()) // Simplify expands repetitions.
	if err != nil {
		return nil, err
	}

	args[0] = &searched{Interpretable: args[0], size: uint64(len(program.Inst)), all: made.Function() == "findAll"}

	return interpreter.NewCall(made.ID(), made.Function(), made.OverloadID(), args, nil), nil
}
