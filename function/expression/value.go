package expression

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// remembered misses are enough: the one that ended the evaluation is among the
// last.
const remembered = 16

// miss remembers that there is nothing at a place.
func (e *evaluation) miss(at place) {
	if len(e.missed) == remembered {
		e.missed = append(e.missed[:0], e.missed[1:]...)
	}

	e.missed = append(e.missed, at)
}

// missing returns the place that the error of an evaluation tells of; nil when it is
// not about a place where nothing is.
func (e *evaluation) missing(err error) *place {
	message := err.Error()

	for i := range slices.Backward(e.missed) {
		if strings.HasSuffix(message, "no such key: "+e.missed[i].name) {
			return &e.missed[i]
		}
	}

	if _, index, ok := strings.Cut(message, "index out of bounds: "); ok && e.list != nil {
		// What it has an item at is not the list that the error tells of.
		if i, err := strconv.Atoi(index); err == nil && i >= len(e.list.items) {
			return &place{up: &e.list.place, index: i, isIndex: true}
		}
	}

	return nil
}

// A view is a JSON value as expressions see it. It is converted as far as it is
// looked at, and knows its place and its schema.
type view struct {
	place

	schema     map[string]any
	evaluation *evaluation
}

// exact is the schema of values in which numbers that are doubles are float64, and
// others int64.
var exact = func() map[string]any { //nolint:gochecknoglobals // It is a constant.
	s := map[string]any{"type": "number"}
	s["items"], s["additionalProperties"] = s, s

	return s
}()

// below returns a value that is in this one.
func (v *view) below(at place, data any, schema map[string]any) ref.Val {
	at.up = &v.place

	switch data := data.(type) {
	case nil:
		return types.NullValue
	case bool:
		return types.Bool(data)
	case string:
		return types.String(data)
	case int64:
		return types.Int(data)
	case float64:
		return number(at, data, schema)
	case map[string]any, Partial:
		return newObject(view{place: at, schema: schema, evaluation: v.evaluation}, data)
	case []any:
		return &list{
			Lister: types.NewDynamicList(types.DefaultTypeAdapter, data),
			view:   view{place: at, schema: schema, evaluation: v.evaluation}, items: data,
		}
	case Unknown:
		return types.WrapErr(unusableError{Kind: Withheld, Message: at.String() + " " + string(data)})
	case []byte:
		return types.WrapErr(unusableError{
			Kind: Invalid,
			Message: at.String() +
				" is not UTF-8 text, and an expression can use no other; have the content encode it, for example as base64",
			Plain: true,
		})
	}

	return types.NewErr("%s is of no type that JSON has: %T", at.String(), data)
}

// number returns a number of the type that its schema says. Without one, an integral number is an integer. Beyond
// 2^53 it is an error: it may differ from the number in the manifest.
func number(at place, n float64, schema map[string]any) ref.Val {
	if schema["type"] == "number" || n != math.Trunc(n) || math.IsInf(n, 0) {
		return types.Double(n)
	}

	if math.Abs(n) > manifest.MaxExact {
		return types.NewErr("%s is an integer beyond 2^53, which is not exact here; make it a string", at.String())
	}

	return types.Int(n)
}

// Unknown stands in the data for a value that is there, and that is not known. It says why, after its place. An
// expression that asks for it, or only whether it is there, has no value.
type Unknown string

// An unusableError is the problem of a value that is there, and that no expression can use.
type unusableError Problem

// Error says what is wrong.
func (e unusableError) Error() string { return e.Message }

// A Partial is a JSON object of which some fields are there by name alone: where the
// object is used as a whole, as the value of a variable for example, they are not.
type Partial struct {
	Fields map[string]any
	// Whole are the names of the others, in order.
	Whole []string
}

// An object is a JSON object as expressions see it. Its iterators go in the
// order of the keys.
type object struct {
	traits.Mapper
	view

	fields map[string]any
	// whole is nil where all fields are part of the whole.
	whole []string
}

// newObject of an object of the data. It is empty for data that is no object.
func newObject(v view, data any) *object {
	p, isPartial := data.(Partial)
	if !isPartial {
		p.Fields, _ = data.(map[string]any)
	}

	return &object{
		Mapper: types.NewStringInterfaceMap(types.DefaultTypeAdapter, p.Fields), view: v, fields: p.Fields, whole: p.Whole,
	}
}

// keys of what is part of the whole, in order.
func (o *object) keys() []string {
	if o.whole != nil {
		return o.whole
	}

	return slices.Sorted(maps.Keys(o.fields))
}

// Find returns the value of a key, if it is there.
func (o *object) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}

	at, schema := place{up: &o.place, name: string(name)}, property(o.schema, string(name))
	data, found := o.fields[string(name)]

	if o.up == nil && o.name == rootLocals {
		data, found, at.waits = o.evaluation.local(string(name))
		schema = exact
	}

	if !found {
		o.evaluation.miss(at)
		return nil, false
	}

	return o.below(at, data, schema), true
}

// property returns the schema of a field of an object.
func property(schema map[string]any, name string) map[string]any {
	if p := below(schema, name); p != nil {
		return p
	}

	values, _ := schema["additionalProperties"].(map[string]any)

	return values
}

// Get the value of a key.
func (o *object) Get(key ref.Val) ref.Val {
	if v, ok := o.Find(key); ok {
		return v
	}

	return types.NewErr("no such key: %v", key)
}

// Contains is true when the key is there. One that is not known may be there or not.
func (o *object) Contains(key ref.Val) ref.Val {
	v, found := o.Find(key)
	if found && types.IsError(v) {
		return v
	}

	return types.Bool(found)
}

// Size is the number of keys.
func (o *object) Size() ref.Val {
	if o.whole != nil {
		return types.Int(len(o.whole))
	}

	return types.Int(len(o.fields))
}

// Iterator of the keys.
func (o *object) Iterator() traits.Iterator {
	return types.NewStringList(types.DefaultTypeAdapter, o.keys()).Iterator()
}

// Equal is true for maps with equal keys and values. It looks no further than
// to what differs.
func (o *object) Equal(other ref.Val) ref.Val {
	m, ok := other.(traits.Mapper)
	if !ok || o.Size() != m.Size() {
		return types.False
	}

	for _, k := range o.keys() {
		theirs, ok := m.Find(types.String(k))
		if !ok {
			return types.False
		}

		if equal := types.Equal(o.Get(types.String(k)), theirs); equal != types.True {
			return equal
		}
	}

	return types.True
}

// A list is a JSON list as expressions see it.
type list struct {
	traits.Lister
	view

	items []any
}

// Get an item.
func (l *list) Get(index ref.Val) ref.Val {
	i, err := types.IndexOrError(index)
	if err != nil {
		return types.ValOrErr(index, "%v", err)
	}

	if i < 0 || i >= len(l.items) {
		l.evaluation.list = l
		return types.NewErr("index out of bounds: %d", i)
	}

	items, _ := l.schema["items"].(map[string]any)

	return l.below(place{index: i, isIndex: true}, l.items[i], items)
}

// Size is the number of items.
func (l *list) Size() ref.Val {
	// CEL asks for the size, and not for an item that is not there.
	l.evaluation.list = l

	return types.Int(len(l.items))
}

// Contains is true when an item is equal to this value.
func (l *list) Contains(v ref.Val) ref.Val {
	return l.plain().Contains(v)
}

// Add another list.
func (l *list) Add(other ref.Val) ref.Val {
	return l.plain().Add(other)
}

// Iterator of the items.
func (l *list) Iterator() traits.Iterator {
	return &items{list: l}
}

// Equal is true for lists with equal items. It looks no further than to what
// differs.
func (l *list) Equal(other ref.Val) ref.Val {
	theirs, ok := other.(traits.Lister)
	if !ok || types.Int(len(l.items)) != theirs.Size() {
		return types.False
	}

	for i := range l.items {
		if equal := types.Equal(l.Get(types.Int(i)), theirs.Get(types.Int(i))); equal != types.True {
			return equal
		}
	}

	return types.True
}

// plain returns the list as CEL's own list.
func (l *list) plain() traits.Lister {
	values := make([]ref.Val, len(l.items))
	for i := range l.items {
		values[i] = l.Get(types.Int(i))
	}

	return types.NewRefValList(types.DefaultTypeAdapter, values)
}

// items are the iterator of a list, which converts them one after another. CEL uses iterators as nothing else.
type items struct {
	ref.Val

	list *list
	next int
}

// HasNext is true when there is another item.
func (i *items) HasNext() ref.Val { return types.Bool(i.next < len(i.list.items)) }

// Next returns the next item.
func (i *items) Next() ref.Val {
	i.next++
	return i.list.Get(types.Int(i.next - 1))
}
