package expression

import (
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

const (
	// maxWork of one expression. A unit is what CEL calls a cost, about 100 ns.
	maxWork = celconfig.PerCallLimit
	// maxTotalWork of all expressions for one XR.
	maxTotalWork = celconfig.RuntimeCELCostBudget
	// perCall is the work of the least call.
	perCall = 5
	// perUnit is how many bytes of a text are gone through in a unit.
	perUnit = 10
	// PerField is the work of a field of an object: it is sorted, and put into
	// another one.
	PerField = 10
	// maxSize of one value in bytes. No more fits into a message to core.
	maxSize = 4 << 20
)

// A Budget is the work that the expressions for one XR may take together. It
// must not be used concurrently.
type Budget struct {
	spent uint64
}

// NewBudget returns a Budget that is enough for whatever a Composition may want
// of an XR, and little enough not to keep others waiting.
func NewBudget() *Budget {
	return &Budget{}
}

// Spend work, in units of about 100 ns, as far as there is a budget.
func (b *Budget) Spend(work uint64) {
	if b != nil {
		b.spent += work
	}
}

// isSpent is true when there is nothing left.
func (b *Budget) isSpent() bool {
	return b != nil && b.spent > maxTotalWork
}

// workOf a call. It has to be known before the call is made, for it may take
// far more than its arguments are large, and its result may be far larger. CEL
// itself counts only what is done, and takes for cheap whatever has operands
// whose types are not known before.
func workOf(function string, args []ref.Val) uint64 {
	switch {
	case len(args) == 0:
		return perCall
	case function == "lists.range":
		n, _ := args[0].(types.Int)
		return perCall + uint64(max(n, 0))
	case function == operators.Equals || function == operators.NotEquals:
		return perCall + min(weight(args[0]), weight(args[1]))
	case isLinear(function):
		return perCall + weights(args)
	case strings.HasPrefix(function, "sets.") && len(args) > 1:
		return perCall + length(args[0])*weight(args[1])
	case function == "distinct":
		return perCall + length(args[0])*weight(args[0])/2
	case (function == overloads.Matches || function == "find" || function == "findAll") && len(args) > 1:
		return (1 + length(args[0])/perUnit) * (1 + length(args[1])/4)
	case function == "replace" && len(args) > 2:
		return perCall + replaced(args)/perUnit
	case function == "join":
		return perCall + joined(args)/perUnit
	case function == "format" && len(args) > 1:
		return perCall + formatted(args)/perUnit + weight(args[1])
	case function == "flatten":
		return perCall + flattened(args)
	}

	return perCall + texts(args)
}

// isLinear is true for functions of lists that go through all of them.
func isLinear(function string) bool {
	switch function {
	case operators.In, "sum", "min", "max", "indexOf", "lastIndexOf", "isSorted", "sort", "reverse", "slice", "@sortByAssociatedKeys":
		return true
	}

	return false
}

// texts returns the work to go through all texts, once.
func texts(args []ref.Val) uint64 {
	n := uint64(0)

	for _, a := range args {
		switch a := a.(type) {
		case types.String:
			n += uint64(len(a))
		case types.Bytes:
			n += uint64(len(a))
		}
	}

	return n / perUnit
}

func weights(args []ref.Val) uint64 {
	n := uint64(0)
	for _, a := range args {
		n += weight(a)
	}

	return n
}

// weight of a value is the work to go through all that is in it.
func weight(v ref.Val) uint64 {
	n := uint64(0)
	weigh(v, &n)

	return n
}

// weigh a value as long as it is not too heavy in any case.
func weigh(v ref.Val, n *uint64) {
	*n++

	switch v := v.(type) {
	case types.String:
		*n += uint64(len(v)) / perUnit
	case types.Bytes:
		*n += uint64(len(v)) / perUnit
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
		n += perUnit + length(it.Next()) + separator
	}

	return n
}

// formatted returns at least the length of text.format(list), apart from the
// items of the list: the text, with numbers as precise as it says.
func formatted(args []ref.Val) uint64 {
	s, _ := args[0].(types.String)
	n, digits := uint64(len(s)), uint64(0)

	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			n, digits = n+digits, 0
			continue
		}

		digits = min(digits*10+uint64(c-'0'), maxWork*perUnit)
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
	count(args[0], depth, &n)

	return n
}

func count(v ref.Val, depth types.Int, n *uint64) {
	list, ok := v.(traits.Lister)
	if !ok || depth < 0 {
		*n++
		return
	}

	for it := list.Iterator(); it.HasNext() == types.True && *n <= maxWork; {
		count(it.Next(), depth-1, n)
	}
}
