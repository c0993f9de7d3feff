package value

import (
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crossplane/function-sdk-go/errors"
)

// fold the keys and values of a map, one after the other.
func fold(m traits.Mapper, f traits.Folder) {
	for it := m.Iterator(); it.HasNext() == types.True; {
		k := it.Next()
		if !f.FoldEntry(k, m.Get(k)) {
			return
		}
	}
}

// An iterator of values that are converted one after another.
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
