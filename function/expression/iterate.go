package expression

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"github.com/crossplane/function-sdk-go/errors"
)

// inOrder lets comprehensions over maps go in the order of the keys. What an
// expression makes of a map would change from call to call otherwise, and with
// it the AnsibleRun. The ranges are those of an expression's comprehensions, by
// the IDs of their expressions.
func inOrder(ranges map[int64]bool) interpreter.InterpretableDecorator {
	return func(i interpreter.Interpretable) (interpreter.Interpretable, error) {
		if !ranges[i.ID()] {
			return i, nil
		}

		// Where something has to be a range, it is not selected from.
		return &orderedRange{Interpretable: i}, nil
	}
}

// orderedRange is an expression that is the range of a comprehension.
type orderedRange struct {
	interpreter.Interpretable
}

// Eval evaluates the expression.
func (o *orderedRange) Eval(a interpreter.Activation) ref.Val {
	v := o.Interpretable.Eval(a)

	if e, ok := a.ResolveName(nameEvaluation); ok {
		if e, ok := e.(*evaluation); ok {
			e.spend(perTurn * length(v))
		}
	}

	m, ok := v.(traits.Mapper)
	if !ok {
		return v
	}

	if _, ok := m.(*object); ok {
		return v
	}

	return ordered{Mapper: m}
}

// ordered is a map whose iterators go in the order of the keys.
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

	return newIterator(len(keys), func(i int) ref.Val { return keys[i] })
}

// Fold the keys and values.
func (o ordered) Fold(f traits.Folder) {
	fold(o, f)
}

// compareKeys of maps: truth values, numbers, and then texts.
func compareKeys(a, b ref.Val) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}

	if c, ok := a.(traits.Comparer); ok {
		if n, ok := c.Compare(b).(types.Int); ok {
			return int(n)
		}
	}

	return 0
}

func rank(key ref.Val) int {
	switch key.(type) {
	case types.Bool:
		return 0
	case types.Int, types.Uint, types.Double:
		return 1
	}

	return 2 //nolint:mnd // The last of them.
}

func fold(m traits.Mapper, f traits.Folder) {
	for it := m.Iterator(); it.HasNext() == types.True; {
		k := it.Next()
		if !f.FoldEntry(k, m.Get(k)) {
			return
		}
	}
}

// An iterator of values, which are made one after another.
type iterator struct {
	length, next int
	at           func(int) ref.Val
}

func newIterator(length int, at func(int) ref.Val) *iterator {
	return &iterator{length: length, at: at}
}

// HasNext is true when there is another value.
func (i *iterator) HasNext() ref.Val {
	return types.Bool(i.next < i.length)
}

// Next returns the next value.
func (i *iterator) Next() ref.Val {
	if i.next >= i.length {
		return nil
	}

	i.next++

	return i.at(i.next - 1)
}

// ConvertToNative is not possible.
func (i *iterator) ConvertToNative(reflect.Type) (any, error) {
	return nil, errors.New("an iterator has no native value")
}

// ConvertToType is not possible.
func (i *iterator) ConvertToType(ref.Type) ref.Val {
	return types.NewErr("an iterator has no other type")
}

// Equal is not defined.
func (i *iterator) Equal(ref.Val) ref.Val {
	return types.NewErr("iterators cannot be compared")
}

// Type of the iterator.
func (i *iterator) Type() ref.Type {
	return types.IteratorType
}

// Value is nil.
func (i *iterator) Value() any {
	return nil
}
