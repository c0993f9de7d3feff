package expression

import (
	"cmp"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// inOrder returns a map with iterators that go in the order of the keys, and any other value as it is.
func inOrder(v ref.Val) ref.Val {
	if m, ok := v.(traits.Mapper); ok {
		return ordered{Mapper: m}
	}

	return v
}

// ordered is a map with iterators that go in the order of the keys.
type ordered struct {
	traits.Mapper
}

// Iterator of the keys.
func (o ordered) Iterator() traits.Iterator {
	var keys []ref.Val
	for it := o.Mapper.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}

	slices.SortFunc(keys, compareKeys)

	return types.NewRefValList(types.DefaultTypeAdapter, keys).Iterator()
}

// ranks of the types of keys: truth values come before numbers, and texts after them.
var ranks = map[ref.Type]int{types.BoolType: -1, types.StringType: 1} //nolint:gochecknoglobals // It is a constant.

func compareKeys(a, b ref.Val) int {
	if c := cmp.Compare(ranks[a.Type()], ranks[b.Type()]); c != 0 {
		return c
	}

	n, _ := a.(traits.Comparer).Compare(b).(types.Int) // Keys can be compared.

	return int(n)
}
