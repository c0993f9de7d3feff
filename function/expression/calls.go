package expression

import (
	"regexp"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	apiservercel "k8s.io/apiserver/pkg/cel"

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
	// perComparisons is how many letters are compared in a unit.
	perComparisons = 20
	// perJSON and perYAML are how many times a text is gone through that is read as
	// JSON or YAML, or a value that is written.
	perJSON = 10
	perYAML = 50
	// perClause is how long a number becomes in a text, at most, and the time it
	// takes, as bytes. Its precision has three digits.
	perClause = 1320
)

// A call goes through its arguments before it is made, and spends the work of that: authors of XRs choose values, so
// that a short expression may take for ever, or all memory.
//
// CEL's own limit (cel.CostLimit) is not used. It counts a call after the call was made, when
// lists.range(xr.spec.billion) has taken all memory. And it takes the square of the turns of a comprehension by itself:
// it keeps the values of all turns on a stack, which it searches in each.
type call struct {
	// It is no InterpretableCall: CEL would replace that of a regular expression.
	interpreter.Interpretable

	args     []interpreter.Interpretable
	function func(e *evaluation, args []ref.Val) ref.Val
}

// limited returns a decorator of programs that limits the work of all calls. The functions are those of the
// environment.
func limited(env *cel.Env) interpreter.InterpretableDecorator {
	return func(i interpreter.Interpretable) (interpreter.Interpretable, error) {
		made, ok := i.(interpreter.InterpretableCall)
		if !ok || len(made.Args()) == 0 {
			return i, nil
		}

		switch {
		case isSearch(made.Function()):
			return searchOf(made)
		case made.Function() == functionFail:
			return failureOf(made), nil
		}

		overloads, err := env.Functions()[made.Function()].Bindings()
		if err != nil || len(overloads) == 0 {
			return i, err
		}

		// The last one chooses among all of them.
		function := overloads[len(overloads)-1]
		if function.NonStrict {
			return i, nil
		}

		return &call{
			Interpretable: made, args: made.Args(),
			function: func(e *evaluation, args []ref.Val) ref.Val { return callOf(made.Function(), function, e, args) },
		}, nil
	}
}

// failureOf an expression: it has no value, whatever else is in it. A literal message shows nothing of any value.
func failureOf(made interpreter.InterpretableCall) interpreter.Interpretable {
	_, isLiteral := made.Args()[0].(interpreter.InterpretableConst)

	return &call{Interpretable: made, args: made.Args(), function: func(e *evaluation, args []ref.Val) ref.Val {
		message, _ := args[0].(types.String)
		e.end(&Problem{Kind: Invalid, Message: clip.Text(string(message), maxMessage), Plain: isLiteral})

		return nil
	}}
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

	return types.LabelErrNode(c.ID(), c.function(evaluationOf(a), args))
}

// compares are the functions that compare values with each other.
var compares = map[string]bool{ //nolint:gochecknoglobals // It is a constant.
	operators.Equals: true, operators.NotEquals: true, operators.In: true, "distinct": true, "indexOf": true,
	"lastIndexOf": true, "sets.contains": true, "sets.equivalent": true, "sets.intersects": true,
}

// callOf a function.
func callOf(name string, function *functions.Overload, e *evaluation, args []ref.Val) ref.Val {
	const two = 2

	e.spend(workOf(name, args))

	// A map is only asked for a key.
	if _, inMap := args[len(args)-1].(traits.Mapper); compares[name] && (name != operators.In || !inMap) {
		if err := unusable(args...); err != nil {
			return err
		}
	}

	switch {
	case name == operators.Equals:
		return types.Equal(args[0], args[1])
	case name == operators.NotEquals:
		if is, ok := types.Equal(args[0], args[1]).(types.Bool); ok {
			return !is
		}
	case function.OperandTrait != 0 && !args[0].Type().HasTrait(function.OperandTrait):
	case len(args) == 1 && function.Unary != nil:
		return function.Unary(args[0])
	case len(args) == two && function.Binary != nil:
		return function.Binary(args[0], args[1])
	case function.Function != nil:
		return function.Function(args...)
	}

	return types.NewErr("no such overload: %s", name)
}

// workOf a call: to go through its arguments, and what a few functions do or make beyond that.
func workOf(function string, args []ref.Val) uint64 {
	n := uint64(perCall)
	for _, arg := range args {
		n += weight(arg)
	}

	switch function {
	case functionRange:
		n = perTurn*length(args[0]) + sorting(args[0])
	case "lists.range":
		length, _ := args[0].(types.Int)
		n += uint64(max(length, 0))
	case "distinct":
		n += n * length(args[0]) / 2
	case "sets.contains", "sets.equivalent", "sets.intersects":
		n += n * length(args[0])
	case "indexOf", "lastIndexOf":
		n += length(args[0]) * length(args[1]) / perComparisons
	case "replace":
		s, _ := args[0].(types.String)
		old, _ := args[1].(types.String)
		n += uint64(strings.Count(string(s), string(old))) * length(args[2]) / perUnit //nolint:gosec // It is not negative.
	case "join":
		n += length(args[0]) * length(args[len(args)-1]) / perUnit * uint64(len(args)-1) //nolint:gosec // It has one at least.
	case "format":
		format, _ := args[0].(types.String)
		n += ofText(strings.Count(string(format), "%") * perClause)

		if precision.MatchString(string(format)) {
			n += maxWork
		}
	case "split", "semver", "isSemver":
		n += length(args[0])
	case "quantity", "isQuantity":
		digits, _ := args[0].(types.String)
		n += length(digits) * length(digits) / perUnit

		if exponent.MatchString(string(digits)) {
			n += maxWork
		}
	case functionMerge:
		n += PerField * (length(args[0]) + length(args[1]))
	case functionJSONMarshal, functionJSONUnmarshal:
		n *= perJSON
	case functionYAMLMarshal, functionYAMLUnmarshal:
		n *= perYAML
	case "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours", "getMinutes",
		"getSeconds", "getMilliseconds":
		n += perZone * uint64(len(args)-1) //nolint:gosec // It has one at least.
	}

	return n
}

// A precision of a format, and an exponent of a quantity, that are too large: numbers are written out with all digits.
var (
	precision = regexp.MustCompile(`%\.[0-9]{4}`)
	exponent  = regexp.MustCompile(`[eE][-+]?[0-9]{3}`)
)

// weight of a value is the work to go through all that is in it, as far as the limit.
func weight(v ref.Val) uint64 {
	n := uint64(0)
	weigh(v, &n)

	return n
}

func weigh(v ref.Val, n *uint64) {
	*n++

	switch v := v.(type) {
	case types.String:
		*n += ofText(len(v))
	case types.Bytes:
		*n += ofText(len(v))
	case *types.Optional:
		if v.HasValue() {
			weigh(v.GetValue(), n)
		}
	case apiservercel.URL:
		*n += ofText(len(v.Host) + len(v.Path) + perUnit*len(v.RawQuery))
	case apiservercel.Semver:
		*n += uint64(len(v.Pre) + len(v.Build))
	case *object:
		weighData(v.fields, n)
	case *list:
		weighData(v.items, n)
	case traits.MutableLister, traits.MutableMapper:
		// A comprehension adds to its result in place.
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && *n <= maxWork; {
			weigh(it.Next(), n)
		}
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True && *n <= maxWork; {
			k := it.Next()
			weigh(k, n)
			weigh(v.Get(k), n)
		}
	}
}

// weighData adds the weight of JSON.
func weighData(v any, n *uint64) {
	*n++

	switch v := v.(type) {
	case string:
		*n += ofText(len(v))
	case []byte:
		*n += ofText(len(v))
	case []any:
		for i := 0; i < len(v) && *n <= maxWork; i++ {
			weighData(v[i], n)
		}
	case Partial:
		weighData(v.Fields, n)
	case map[string]any:
		for k, v := range v {
			if *n > maxWork {
				break
			}

			*n += ofText(len(k))
			weighData(v, n)
		}
	}
}

// unusable returns the error of what is not known in values that are compared, whatever else differs; nil without one.
func unusable(values ...ref.Val) ref.Val {
	for _, v := range values {
		if types.IsError(v) {
			return v
		}

		m, isMap := v.(traits.Mapper)

		all, ok := inOrder(v).(traits.Iterable)
		if !ok {
			continue
		}

		for it := all.Iterator(); it.HasNext() == types.True; {
			item := it.Next()
			if isMap {
				item = m.Get(item)
			}

			if err := unusable(item); err != nil {
				return err
			}
		}
	}

	return nil
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
