package cost

import (
	"strconv"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression/library"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression/value"
)

const (
	// perCall is the work of the least call.
	perCall = 5
	// perItem is the work of functions that compare the items of a list.
	perItem = 2
	// perComparisons is how many letters are compared in a unit.
	perComparisons = 20
	// perFormat is how many times a text is gone through that is validated.
	perFormat = 4
	// perJSON and perYAML are how many times a text is gone through that is read as
	// JSON or YAML, or a value that is written.
	perJSON = 10
	perYAML = 50
	// perZone is the work to read the rules of a time zone.
	perZone = 300
	// perClause is how long a number becomes in a text, at most, and the time it
	// takes, as bytes.
	perClause = 320
)

// A work is what a call takes beside perCall. It has to be known before the call is
// made, for it may be far more than its arguments are large, and its result may be
// far larger.
type work func(args []ref.Val) uint64

// works of functions by their names. Others go through their texts, once.
var works = map[string]work{ //nolint:gochecknoglobals // It is a constant.
	operators.Equals:        compared,
	operators.NotEquals:     compared,
	operators.Add:           func(args []ref.Val) uint64 { return texts(args) + added(args[0], args[1]) },
	"lists.range":           ranged,
	"flatten":               flattened,
	"distinct":              func(args []ref.Val) uint64 { return length(args[0]) * weight(args[0]) / 2 },
	"sets.contains":         pairs,
	"sets.equivalent":       pairs,
	"sets.intersects":       pairs,
	"indexOf":               searched,
	"lastIndexOf":           searched,
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
	"replace":               replaced,
	"join":                  joined,
	"format":                formatted,
	"split":                 func(args []ref.Val) uint64 { return length(args[0]) },
	"semver":                func(args []ref.Val) uint64 { return length(args[0]) },
	"isSemver":              func(args []ref.Val) uint64 { return length(args[0]) },
	"quantity":              quantity,
	"isQuantity":            quantity,
	"validate":              times(perFormat, texts),
	library.JSONMarshal:     times(perJSON, weights),
	library.JSONUnmarshal:   times(perJSON, texts),
	library.Merge:           func(args []ref.Val) uint64 { return PerField * (length(args[0]) + length(args[1])) },
	library.YAMLMarshal:     times(perYAML, weights),
	library.YAMLUnmarshal:   times(perYAML, texts),
}

// workOf the calls of a function.
func workOf(function string) work {
	if w := works[function]; w != nil {
		return w
	}

	return func(args []ref.Val) uint64 {
		if isLocal(args) {
			return perZone
		}

		return texts(args)
	}
}

func times(n uint64, w work) work {
	return func(args []ref.Val) uint64 { return n * w(args) }
}

// items returns the work to go through all items of lists.
func items(args []ref.Val) uint64 { return perItem * weights(args) }

// pairs returns the work to look for all items of a list in another one.
func pairs(args []ref.Val) uint64 { return length(args[0]) * weight(args[1]) }

// ranged returns the number of items of lists.range(n).
func ranged(args []ref.Val) uint64 {
	n, _ := args[0].(types.Int)
	return uint64(max(n, 0))
}

// searched returns the work to look for a text, or an item.
func searched(args []ref.Val) uint64 {
	if isText(args[0]) {
		return texts(args) + length(args[0])*length(args[1])/perComparisons
	}

	return items(args)
}

// texts returns the work to go through all texts, once, and through what was
// made of texts.
func texts(args []ref.Val) uint64 {
	n := uint64(0)

	for _, a := range args {
		switch a := a.(type) {
		case types.String:
			n += uint64(len(a))
		case types.Bytes:
			n += uint64(len(a))
		case apiservercel.URL:
			n += uint64(len(a.Host) + len(a.Path) + perUnit*len(a.RawQuery))
		case apiservercel.Semver:
			n += perUnit * uint64(len(a.Pre)+len(a.Build))
		}
	}

	return n / perUnit
}

func isText(v ref.Val) bool {
	_, ok := v.(types.String)
	return ok
}

// isLocal is true for a call that gets a part of a time in a time zone: the rules of the zone are read from a file.
func isLocal(args []ref.Val) bool {
	if len(args) < 2 { // A time, and its zone.
		return false
	}

	_, ok := args[0].(types.Timestamp)

	return ok && isText(args[1])
}

// added returns the work to make a list of two. A comprehension adds to its
// result in place.
func added(a, b ref.Val) uint64 {
	n := uint64(0)

	if _, ok := a.(traits.MutableLister); ok {
		a = b
	} else if _, ok := b.(traits.Lister); ok {
		n = length(b)
	}

	if _, ok := a.(traits.Lister); ok {
		n += length(a)
	}

	return n
}

// quantity returns the work to parse a quantity: a number, which is written out
// without its exponent.
func quantity(args []ref.Val) uint64 {
	s, _ := args[0].(types.String)
	n := uint64(len(s))

	if i := strings.LastIndexAny(string(s), "eE"); i >= 0 {
		exponent, err := strconv.ParseInt(string(s[i+1:]), 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			return maxWork
		}

		n += uint64(max(exponent, -exponent, 0))
	}

	n = min(n, maxWork)

	return n * n / perUnit
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
	s := scales{limit: maxWork}
	s.weigh(v)

	return s.weight
}

// compared returns the work to compare two values, and to look for what is not known in them.
func compared(args []ref.Val) uint64 {
	_, a := value.Unknown(args[0])
	_, b := value.Unknown(args[1])

	return a + b + lighter(args)
}

// lighter returns the weight of the lighter one of two values. It looks no further into
// the other one than that, for to weigh a value is work which is not counted.
func lighter(args []ref.Val) uint64 {
	const few = 16

	for limit := uint64(few); ; limit *= few {
		x, y := scales{limit: limit}, scales{limit: limit}
		x.weigh(args[0])
		y.weigh(args[1])

		if n := min(x.weight, y.weight); n <= limit || limit > maxWork {
			return n
		}
	}
}

// scales weigh values until they exceed a limit.
type scales struct {
	weight, limit uint64
}

func (s *scales) isFull() bool {
	return s.weight > s.limit
}

func (s *scales) weigh(v ref.Val) {
	s.weight++

	switch v := v.(type) {
	case types.String:
		s.weight += uint64(len(v)) / perUnit
	case types.Bytes:
		s.weight += uint64(len(v)) / perUnit
	case *value.List, *value.Object:
		s.json(v.Value())
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && !s.isFull(); {
			s.weigh(it.Next())
		}
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True && !s.isFull(); {
			k := it.Next()
			s.weigh(k)
			s.weigh(v.Get(k))
		}
	}
}

// json weighs what is in a value of the data.
func (s *scales) json(v any) {
	switch v := v.(type) {
	case string:
		s.weight += uint64(len(v)) / perUnit
	case []any:
		for i := 0; i < len(v) && !s.isFull(); i++ {
			s.weight++
			s.json(v[i])
		}
	case value.Partial:
		s.json(v.Fields)
	case map[string]any:
		for k := range v {
			if s.isFull() {
				return
			}

			s.weight += 2 + uint64(len(k))/perUnit
			s.json(v[k])
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

// replaced returns the work to write s.replace(old, new).
func replaced(args []ref.Val) uint64 {
	s, _ := args[0].(types.String)
	old, _ := args[1].(types.String)

	return (uint64(len(s)) + uint64(max(strings.Count(string(s), string(old)), 0))*length(args[2])) / perUnit
}

// joined returns the work to write list.join(separator).
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

	return n / perUnit
}

// formatted returns the work to write text.format(list): the text, with numbers as
// precise as it says, and all that is in the list.
func formatted(args []ref.Val) uint64 {
	s, _ := args[0].(types.String)
	n, digits := uint64(len(s)), uint64(0)

	for _, c := range []byte(s) {
		if c == '%' {
			n += perClause
		}

		if c < '0' || c > '9' {
			n, digits = n+digits, 0
			continue
		}

		digits = min(digits*10+uint64(c-'0'), maxWork*perUnit)
	}

	return (n+digits)/perUnit + weight(args[1])
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
