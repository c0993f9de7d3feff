package value

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// Lookups are what one evaluation has looked for, and not found. They must not be
// used concurrently.
type Lookups struct {
	missed []Place
	list   *List
	// binary is a value that is no text.
	binary *Place
}

// Messages of errors. Others follow from CEL's own.
const (
	messageBinary = " is not text"
	messageNoKey  = "no such key: "
)

// remembered misses are enough: the one that ended the evaluation is among the
// last.
const remembered = 16

func (l *Lookups) miss(at Place) {
	if len(l.missed) == remembered {
		l.missed = append(l.missed[:0], l.missed[1:]...)
	}

	l.missed = append(l.missed, at)
}

// Missing returns the Place that the error of an evaluation tells of; nil when it is
// not about a Place where nothing is.
func (l *Lookups) Missing(err error) *Place {
	message := err.Error()

	for i := range slices.Backward(l.missed) {
		if strings.HasSuffix(message, messageNoKey+l.missed[i].name) {
			return &l.missed[i]
		}
	}

	if _, index, ok := strings.Cut(message, "index out of bounds: "); ok && l.list != nil {
		// What it has an item at is not the list that the error tells of.
		if i, err := strconv.Atoi(index); err == nil && i >= len(l.list.items) {
			return &Place{up: &l.list.Place, index: i, isIndex: true}
		}
	}

	return nil
}

// Binary returns the Place of a value that is no text, if the error of an evaluation
// tells of one; nil otherwise.
func (l *Lookups) Binary(err error) *Place {
	if l.binary == nil || !strings.Contains(err.Error(), l.binary.String()+messageBinary) {
		return nil
	}

	return l.binary
}

// A view is a JSON value as expressions see it. It is converted as far as it is
// looked at, and knows its Place.
type view struct {
	Place
	shape   *Shape
	lookups *Lookups
}

// below returns a value that is in this one.
func (v *view) below(at Place, value any, s *Shape) ref.Val {
	at.up = &v.Place

	switch value := value.(type) {
	case nil:
		return types.NullValue
	case bool:
		return types.Bool(value)
	case string:
		return types.String(value)
	case int64:
		if s == exact {
			return types.Int(value)
		}

		return number(at, float64(value), s)
	case float64:
		return number(at, value, s)
	case map[string]any, Partial:
		return newObject(view{Place: at, shape: s, lookups: v.lookups}, value)
	case []any:
		return &List{view: view{Place: at, shape: s, lookups: v.lookups}, items: value}
	case UnknownError:
		value.at = at.String()

		return types.WrapErr(value)
	case []byte:
		binary := at // Only what is pointed to is on the heap.
		v.lookups.binary = &binary

		return types.NewErr("%s%s", &binary, messageBinary)
	}

	return types.NewErr("%s is of no type that JSON has: %T", at.String(), value)
}

// number returns a number of the type that its schema says. Without one, an integral number is an integer. Beyond
// 2^53 it is an error: it may differ from the number in the manifest.
func number(at Place, n float64, s *Shape) ref.Val {
	if s.isDouble() || n != math.Trunc(n) || math.IsInf(n, 0) {
		return types.Double(n)
	}

	if math.Abs(n) > manifest.MaxExact {
		return types.NewErr("%s is an integer beyond 2^53, which is not exact here; make it a string", at.String())
	}

	return types.Int(n)
}

// An UnknownError stands in the data for a value that is there, and that is not known. An expression that asks
// for it, or only whether it is there, ends in this error.
type UnknownError struct {
	// Why it is not known, after its place.
	Why string

	at string
}

// Error says what is not known, and why.
func (e UnknownError) Error() string { return e.at + " " + e.Why }

// Unknown returns the error of a value that is not known in an object, or in an object of a list; nil without one.
// It looks no deeper, and returns how much that was.
func Unknown(v ref.Val) (unknown ref.Val, looked uint64) {
	switch v := v.(type) {
	case *Object:
		if k, ok := unknownKey(v.fields, v.whole); ok {
			unknown = v.Get(types.String(k))
		}

		return unknown, uint64(len(v.fields))
	case *List: // No values are made of what is known.
		for i, item := range v.items {
			fields, whole := partsOf(item)
			looked += 1 + uint64(len(fields))

			if _, ok := unknownKey(fields, whole); ok {
				unknown, _ = Unknown(v.Get(types.Int(i)))
				return unknown, looked
			}
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && unknown == nil; {
			looked++

			if o, ok := it.Next().(*Object); ok {
				found, n := Unknown(o)
				unknown, looked = found, looked+n
			}
		}
	}

	return unknown, looked
}

// unknownKey returns the first key of a value that is not known, and is part of the whole.
func unknownKey(fields map[string]any, whole []string) (key string, found bool) {
	for k, v := range fields {
		if _, ok := v.(UnknownError); ok && (whole == nil || slices.Contains(whole, k)) && (!found || k < key) {
			key, found = k, true
		}
	}

	return key, found
}

// A Partial is a JSON object of which some fields are there by name alone: where the
// object is used as a whole, as the value of a variable for example, they are not.
type Partial struct {
	Fields map[string]any
	// Whole are the names of the others, in order.
	Whole []string
}

// An Object is a JSON object as expressions see it. Its iterators go in the
// order of the keys.
type Object struct {
	view

	fields map[string]any
	// whole is nil where all fields are part of the whole.
	whole []string
}

// Root returns an object as the root of expressions that has this name. It is empty
// for data that is no object. The Shape is that of its values.
func Root(name string, data any, s *Shape, l *Lookups) *Object {
	return newObject(view{Place: Place{name: name}, shape: s, lookups: l}, data)
}

// Member returns a value of a member of this object that is computed when it is asked for. Its integers are int64 and
// its doubles are float64. Something in it may be there later where it waits.
func (o *Object) Member(name string, v any, waits bool) ref.Val {
	return o.below(Place{name: name, waits: waits}, v, exact)
}

// Miss says that such a member is not there.
func (o *Object) Miss(name string, waits bool) {
	o.lookups.miss(Place{up: &o.Place, name: name, waits: waits})
}

// NoSuchKey is the value of a key that is not there.
func NoSuchKey(key ref.Val) ref.Val { return types.NewErr(messageNoKey+"%v", key) }

// newObject of an object of the data.
func newObject(v view, data any) *Object {
	fields, whole := partsOf(data)
	return &Object{view: v, fields: fields, whole: whole}
}

// partsOf an object of the data: its fields, and the names of those that are part of the whole; nil for all.
func partsOf(data any) (fields map[string]any, whole []string) {
	if p, ok := data.(Partial); ok {
		return p.Fields, p.Whole
	}

	fields, _ = data.(map[string]any)

	return fields, nil
}

// keys of what is part of the whole, in order.
func (o *Object) keys() []string {
	if o.whole != nil {
		return o.whole
	}

	return slices.Sorted(maps.Keys(o.fields))
}

// Find returns the value of a key, if it is there.
func (o *Object) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}

	value, ok := o.fields[string(name)]
	if !ok {
		o.lookups.miss(Place{up: &o.Place, name: string(name)})
		return nil, false
	}

	return o.below(Place{name: string(name)}, value, o.shape.field(string(name))), true
}

// Get the value of a key.
func (o *Object) Get(key ref.Val) ref.Val {
	if v, ok := o.Find(key); ok {
		return v
	}

	return NoSuchKey(key)
}

// Contains is true when the key is there.
func (o *Object) Contains(key ref.Val) ref.Val {
	name, ok := key.(types.String)

	v, found := o.fields[string(name)]
	if _, unknown := v.(UnknownError); unknown {
		return o.Get(key)
	}

	return types.Bool(ok && found)
}

// Size is the number of keys.
func (o *Object) Size() ref.Val {
	if o.whole != nil {
		return types.Int(len(o.whole))
	}

	return types.Int(len(o.fields))
}

// Iterator of the keys.
func (o *Object) Iterator() traits.Iterator {
	return types.NewStringList(types.DefaultTypeAdapter, o.keys()).Iterator()
}

// Equal is true for maps with equal keys and values. It looks no further than
// to what differs.
func (o *Object) Equal(other ref.Val) ref.Val {
	m, ok := other.(traits.Mapper)
	if !ok || o.Size() != m.Size() {
		return types.False
	}

	equal := ref.Val(types.True)

	for it := o.Iterator(); it.HasNext() == types.True; {
		k := it.Next()

		theirs, ok := m.Find(k)
		if !ok {
			return types.False
		}

		if equal = both(equal, types.Equal(o.Get(k), theirs)); equal == types.False {
			return equal
		}
	}

	return equal
}

// both are true, or one of them is false, or the first error.
func both(a, b ref.Val) ref.Val {
	if b == types.False || a == types.True {
		return b
	}

	return a
}

// ConvertToNative returns the value as a value of Go.
func (o *Object) ConvertToNative(t reflect.Type) (any, error) {
	return o.plain().ConvertToNative(t)
}

// ConvertToType returns the value as a value of another type.
func (o *Object) ConvertToType(t ref.Type) ref.Val {
	return convert(o, types.MapType, t)
}

// Type of the value.
func (o *Object) Type() ref.Type {
	return types.MapType
}

// Value as JSON.
func (o *Object) Value() any {
	return o.fields
}

// convert a value of a type to another one.
func convert(v ref.Val, of *types.Type, to ref.Type) ref.Val {
	switch to {
	case of:
		return v
	case types.TypeType:
		return of
	}

	return types.NewErr("type conversion error from '%s' to '%s'", of, to)
}

// plain returns the object as CEL's own map.
func (o *Object) plain() traits.Mapper {
	m := make(map[ref.Val]ref.Val, len(o.fields))
	for _, k := range o.keys() {
		m[types.String(k)] = o.Get(types.String(k))
	}

	return types.NewRefValMap(types.DefaultTypeAdapter, m)
}

// A List is a JSON list as expressions see it.
type List struct {
	view

	items []any
}

// Get an item.
func (l *List) Get(index ref.Val) ref.Val {
	i, err := types.IndexOrError(index)
	if err != nil {
		return types.ValOrErr(index, "%v", err)
	}

	if i < 0 || i >= len(l.items) {
		l.lookups.list = l
		return types.NewErr("index out of bounds: %d", i)
	}

	return l.below(Place{index: i, isIndex: true}, l.items[i], l.shape.below())
}

// Size is the number of items.
func (l *List) Size() ref.Val {
	// CEL asks for the size, and not for an item that is not there.
	l.lookups.list = l

	return types.Int(len(l.items))
}

// Contains is true when an item is equal to this value.
func (l *List) Contains(value ref.Val) ref.Val {
	return l.plain().Contains(value)
}

// Add another list.
func (l *List) Add(other ref.Val) ref.Val {
	return l.plain().Add(other)
}

// Iterator of the items.
func (l *List) Iterator() traits.Iterator {
	return &items{list: l}
}

// Equal is true for lists with equal items. It looks no further than to what
// differs.
func (l *List) Equal(other ref.Val) ref.Val {
	theirs, ok := other.(traits.Lister)
	if !ok || types.Int(len(l.items)) != theirs.Size() {
		return types.False
	}

	equal := ref.Val(types.True)

	for i := range l.items {
		if equal = both(equal, types.Equal(l.Get(types.Int(i)), theirs.Get(types.Int(i)))); equal == types.False {
			return equal
		}
	}

	return equal
}

// ConvertToNative returns the value as a value of Go.
func (l *List) ConvertToNative(t reflect.Type) (any, error) {
	return l.plain().ConvertToNative(t)
}

// ConvertToType returns the value as a value of another type.
func (l *List) ConvertToType(t ref.Type) ref.Val {
	return convert(l, types.ListType, t)
}

// Type of the value.
func (l *List) Type() ref.Type {
	return types.ListType
}

// Value as JSON.
func (l *List) Value() any {
	return l.items
}

// plain returns the list as CEL's own list.
func (l *List) plain() traits.Lister {
	values := make([]ref.Val, len(l.items))
	for i := range l.items {
		values[i] = l.Get(types.Int(i))
	}

	return types.NewRefValList(types.DefaultTypeAdapter, values)
}

// items are the iterator of a List, which converts them one after another. CEL uses iterators as nothing else.
type items struct {
	ref.Val

	list *List
	next int
}

// HasNext is true when there is another item.
func (i *items) HasNext() ref.Val { return types.Bool(i.next < len(i.list.items)) }

// Next returns the next item.
func (i *items) Next() ref.Val {
	i.next++
	return i.list.Get(types.Int(i.next - 1))
}
