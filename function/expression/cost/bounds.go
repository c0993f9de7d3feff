package cost

import (
	"strconv"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression/library"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression/value"
)

const (
	// perItem is the work of functions that compare the items of a list.
	perItem = 2
	// perComparisons is how many letters are compared in a unit.
	perComparisons = 20
	// perJSON and perYAML are how many times a text is gone through that is read as
	// JSON or YAML, or a value that is written.
	perJSON = 10
	perYAML = 50
	// perClause is how long a number becomes in a text, at most, and the time it
	// takes, as bytes.
	perClause = 320
)

// bounds of calls by their functions: the work of those that go through lists, or that may take or make far more than
// they are given. Others go through their texts, once.
var bounds = map[string]func(args []ref.Val) uint64{ //nolint:gochecknoglobals // It is a constant.
	operators.Equals:        compared,
	operators.NotEquals:     compared,
	operators.Add:           added,
	operators.In:            items,
	"sum":                   items,
	"min":                   items,
	"max":                   items,
	"isSorted":              items,
	"sort":                  items,
	"@sortByAssociatedKeys": items,
	"reverse":               items,
	"slice":                 items,
	"math.@min":             items,
	"math.@max":             items,
	"lists.range":           ranged,
	"flatten":               func(args []ref.Val) uint64 { return weight(args[0]) },
	"distinct":              func(args []ref.Val) uint64 { return length(args[0]) * weight(args[0]) / 2 },
	"sets.contains":         pairs,
	"sets.equivalent":       pairs,
	"sets.intersects":       pairs,
	"indexOf":               searched,
	"lastIndexOf":           searched,
	"replace":               lengthened,
	"join":                  joined,
	"format":                formatted,
	"split":                 func(args []ref.Val) uint64 { return length(args[0]) },
	"semver":                func(args []ref.Val) uint64 { return length(args[0]) },
	"isSemver":              func(args []ref.Val) uint64 { return length(args[0]) },
	"validate":              func(args []ref.Val) uint64 { return weights(args...) },
	"quantity":              quantity,
	"isQuantity":            quantity,
	library.Merge:           func(args []ref.Val) uint64 { return PerField * (length(args[0]) + length(args[1])) },
	library.JSONMarshal:     func(args []ref.Val) uint64 { return perJSON * weight(args[0]) },
	library.JSONUnmarshal:   func(args []ref.Val) uint64 { return perJSON * weight(args[0]) },
	library.YAMLMarshal:     func(args []ref.Val) uint64 { return perYAML * weight(args[0]) },
	library.YAMLUnmarshal:   func(args []ref.Val) uint64 { return perYAML * weight(args[0]) },
}

func equal(args []ref.Val) ref.Val {
	if v := unknown(args); v != nil {
		return v
	}

	return types.Equal(args[0], args[1])
}

func notEqual(args []ref.Val) ref.Val {
	v := equal(args)
	if is, ok := v.(types.Bool); ok {
		return !is
	}

	return v
}

// in compares a value to the items of a list. Of a map, it only asks for a key.
func in(function func(args []ref.Val) ref.Val, args []ref.Val) ref.Val {
	if _, ok := args[1].(traits.Lister); ok {
		if v := unknown(args); v != nil {
			return v
		}
	}

	return function(args)
}

// unknown returns the error of what is not known in values that are compared, whatever else differs.
func unknown(args []ref.Val) ref.Val {
	for _, v := range args {
		if v, _ := value.Unknown(v); v != nil {
			return v
		}
	}

	return nil
}

// add two values. CEL's own sum of two lists looks into both each time, so that one with itself, again and again, takes
// for ever.
func add(args []ref.Val) ref.Val {
	first, isList := args[0].(traits.Lister)
	second, areLists := args[1].(traits.Lister)

	// A comprehension adds to its result in place.
	if _, ok := first.(traits.MutableLister); isList && areLists && !ok {
		var values []ref.Val

		for _, list := range []traits.Lister{first, second} {
			for it := list.Iterator(); it.HasNext() == types.True; {
				values = append(values, it.Next())
			}
		}

		return types.NewRefValList(types.DefaultTypeAdapter, values)
	}

	if a, ok := args[0].(traits.Adder); ok {
		return a.Add(args[1])
	}

	return types.MaybeNoSuchOverloadErr(args[0])
}

// added returns the work to make a list, or a text, of two.
func added(args []ref.Val) uint64 {
	n := uint64(0)

	for i, arg := range args {
		switch v := arg.(type) {
		case traits.MutableLister:
			// A comprehension adds to its result in place.
		case traits.Lister:
			n += length(v)
		default:
			n += size(args[i]) / perUnit
		}
	}

	return n
}

// compared returns the work to compare two values, and to look for what is not known in them. Lists and maps of
// different lengths are not compared.
func compared(args []ref.Val) uint64 {
	_, a := value.Unknown(args[0])
	_, b := value.Unknown(args[1])

	if length(args[0]) != length(args[1]) {
		return a + b
	}

	return a + b + weights(args...)
}

// items returns the work to go through all items of lists.
func items(args []ref.Val) uint64 { return perItem * weights(args...) }

// pairs returns the work to look for all items of a list in another one.
func pairs(args []ref.Val) uint64 { return length(args[0]) * weight(args[1]) }

// ranged returns the number of items of lists.range(n).
func ranged(args []ref.Val) uint64 {
	n, _ := args[0].(types.Int)
	return uint64(max(n, 0))
}

// searched returns the work to look for a text, or an item.
func searched(args []ref.Val) uint64 {
	if _, ok := args[0].(types.String); ok {
		return length(args[0]) * length(args[1]) / perComparisons
	}

	return items(args)
}

// lengthened returns the work to write s.replace(old, new).
func lengthened(args []ref.Val) uint64 {
	s, _ := args[0].(types.String)
	old, _ := args[1].(types.String)

	return uint64(max(strings.Count(string(s), string(old)), 0)) * length(args[2]) / perUnit
}

// joined returns the work to write list.join(separator).
func joined(args []ref.Val) uint64 {
	n := weight(args[0])
	if len(args) > 1 {
		n += length(args[0]) * length(args[1]) / perUnit
	}

	return n
}

// formatted returns the work to write text.format(list): the text, with numbers as
// precise as it says, and all that is in the list.
func formatted(args []ref.Val) uint64 {
	s, _ := args[0].(types.String)
	n, digits := uint64(max(strings.Count(string(s), "%"), 0))*perClause, uint64(0)

	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			n, digits = n+digits, 0
			continue
		}

		digits = min(digits*10+uint64(c-'0'), maxWork*perUnit)
	}

	return (n+digits)/perUnit + weight(args[1])
}

// quantity returns the work to parse a quantity: a number, which is written out
// without its exponent.
func quantity(args []ref.Val) uint64 {
	s, _ := args[0].(types.String)
	n := uint64(len(s))

	if i := strings.LastIndexAny(string(s), "eE"); i >= 0 {
		// Beyond all integers, it is the largest one.
		exponent, _ := strconv.ParseInt(string(s[i+1:]), 10, 32)
		n += uint64(max(exponent, -exponent, 0))
	}

	return n * n / perUnit
}

// weights of values together.
func weights(values ...ref.Val) uint64 {
	n := uint64(0)
	for _, v := range values {
		n += weight(v)
	}

	return n
}

// weight of a value is the work to go through all that is in it, as far as the limit.
func weight(v ref.Val) uint64 {
	n := uint64(0)
	weigh(v, &n)

	return n
}

func weigh(v ref.Val, n *uint64) {
	*n += 1 + size(v)/perUnit

	switch v := v.(type) {
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
