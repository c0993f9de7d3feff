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
	// perCall is the work of the least call.
	perCall = 5
	// perTurn is the work of a turn of a comprehension, apart from its calls.
	perTurn = 3
	// perZone is the work to read the rules of a time zone from a file.
	perZone = 300
	// maxShort is how long a quantity or a version is, in bytes: numbers are worked with digit by digit.
	maxShort = 256
	// perJSON is how many times a text is gone through that is read as JSON, or a value that is written.
	perJSON = 10
	// perClause is how long a number becomes in a text, at most, and the time it
	// takes, as bytes. Its precision has three digits.
	perClause = 1320
	// perSteps is how many instructions of a regular expression are looked at in a unit.
	perSteps = 16
)

// A call goes through its arguments before it is made, and spends the work of that: authors of XRs choose values, so
// that a short expression may take for ever, or all memory.
//
// CEL's own limit (cel.CostLimit) is not used. It counts a call after the call was made, when
// lists.range(xr.spec.billion) has taken all memory. And it takes the square of the turns of a comprehension by itself:
// it keeps the values of all turns on a stack, which it searches in each.
type call struct {
	interpreter.InterpretableCall

	args    []interpreter.Interpretable
	binding *functions.Overload
}

// limited returns a decorator of programs that limits the work of all calls. The functions are those of the
// environment.
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

		// The last one chooses among all of them.
		binding := bindings[len(bindings)-1]
		if binding.NonStrict {
			return i, nil
		}

		return &call{InterpretableCall: made, args: made.Args(), binding: binding}, nil
	}
}

// Eval makes the call. An argument that failed stands for it, which is work, too: a comprehension may go on after it.
func (c *call) Eval(a interpreter.Activation) ref.Val {
	args := make([]ref.Val, len(c.args))

	for i, arg := range c.args {
		if args[i] = arg.Eval(a); types.IsUnknownOrError(args[i]) {
			evaluationOf(a).spend(perCall)

			return args[i]
		}
	}

	return types.LabelErrNode(c.ID(), c.of(evaluationOf(a), args))
}

// compares are the functions that compare values with each other.
var compares = map[string]bool{ //nolint:gochecknoglobals // It is a constant.
	operators.Equals: true, operators.NotEquals: true, operators.In: true, "distinct": true, "indexOf": true,
	"lastIndexOf": true, "sets.contains": true, "sets.equivalent": true, "sets.intersects": true,
}

// of these arguments.
func (c *call) of(e *evaluation, args []ref.Val) ref.Val {
	const two = 2

	name := c.Function()
	work, unusable := workOf(name, args)
	e.spend(work)

	// A map is only asked for a key.
	_, isMap := args[len(args)-1].(traits.Mapper)
	if unusable != nil && compares[name] && (name != operators.In || !isMap) {
		return unusable
	}

	switch {
	case name == functionFail: // The expression has no value, whatever else is in it.
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

// workOf a call: to go through its arguments, and what a few functions do or make beyond that. The value is the first
// one in the arguments that cannot be used; nil for none.
func workOf(function string, args []ref.Val) (uint64, ref.Val) {
	w := weigher{}

	if function == functionRange {
		if m, ok := args[0].(traits.Mapper); ok {
			// Keys are put in order, and long ones are compared as far as they are equal.
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

		n += ofText(strings.Count(string(format), "%") * perClause)

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

// A precision of a format, and an exponent of a quantity, that are too large: numbers are written out with all digits.
var (
	precision = regexp.MustCompile(`%\.[0-9]{4}`)
	exponent  = regexp.MustCompile(`^[-+]?[0-9.]+[eE][-+]?[0-9]{3}`)
)

// A weigher goes through all that is in values, as far as the limit.
type weigher struct {
	work uint64
	// depth of the value that is weighed, and of the deepest one.
	depth, deepest uint64
	// unusable is the first value that is an error, in the order of the keys: one that is not known, for example.
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
		w.work += ofText(len(v))
	case types.Bytes:
		w.work += ofText(len(v))
	case *types.Optional:
		if v.HasValue() {
			w.weigh(v.GetValue())
		}
	case apiservercel.URL:
		w.work += ofText(len(v.Host) + len(v.Path) + perUnit*len(v.RawQuery))
	case traits.MutableLister, traits.MutableMapper:
		// A comprehension adds to its result in place.
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && w.work <= maxWork; {
			w.weigh(it.Next())
		}
	case traits.Mapper:
		for it := (ordered{v}).Iterator(); it.HasNext() == types.True && w.work <= maxWork; {
			key := it.Next()
			w.weigh(key)
			w.weigh(v.Get(key))
		}
	}

	w.depth--
}

// length of a text in bytes, or of a list.
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

// searched is a text that is searched for a regular expression, which spends the work of that.
type searched struct {
	interpreter.Interpretable

	// size of the regular expression, in instructions.
	size uint64
	// all matches are looked for.
	all bool
}

// Eval returns the text.
func (s *searched) Eval(a interpreter.Activation) ref.Val {
	const overhead, half = 3, 2

	text := s.Interpretable.Eval(a)
	bytes := length(text)
	work := perCall + (bytes+1)*(overhead+s.size)/perSteps

	if s.all {
		// After each match it may go through all the rest of the text, however short the match is: half of it on average.
		work *= 1 + bytes/half
	}

	evaluationOf(a).spend(work)

	return text
}

// searchOf a text for a regular expression, which CEL compiles once. It is literal: a short one that the author of an
// XR chose could become large, and take long to compile.
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

	program, err := syntax.Compile(parsed.Simplify()) // Repetitions are written out.
	if err != nil {
		return nil, err
	}

	args[0] = &searched{Interpretable: args[0], size: uint64(len(program.Inst)), all: made.Function() == "findAll"}

	return interpreter.NewCall(made.ID(), made.Function(), made.OverloadID(), args, nil), nil
}
