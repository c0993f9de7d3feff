package expression

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// miss a place at which nothing is.
func (e *evaluation) miss(at place) {
	if e.missed == nil {
		e.missed = map[string]*place{}
	}

	e.missed[at.name] = &at
}

// missing returns the place that the error of an evaluation tells of; nil when it is not about a place where nothing
// is.
func (e *evaluation) missing(err error) *place {
	message := err.Error()

	if _, key, ok := strings.Cut(message, "no such key: "); ok {
		return e.missed[key]
	}

	if _, index, ok := strings.Cut(message, "index out of bounds: "); ok && e.list != nil {
		// What it has an item at is not the list that the error tells of.
		if i, err := strconv.Atoi(index); err == nil && i >= len(e.list.items) {
			return &place{up: &e.list.place, index: i, isIndex: true}
		}
	}

	return nil
}

// A view is a JSON value as expressions see it. It is converted as far as it is looked at, and knows its place and its
// schema.
type view struct {
	place

	schema     map[string]any
	evaluation *evaluation
}

// NativeToValue returns a value that CEL itself takes from a list or an object, to compare it for example. A list has
// the schema of its items.
func (v *view) NativeToValue(data any) ref.Val { return v.evaluation.value(v.place, data, v.schema) }

// exact is the schema of values in which numbers that are doubles are float64, and others int64.
var exact = func() map[string]any { //nolint:gochecknoglobals // It is a constant.
	s := typed(Number)
	s["items"], s["additionalProperties"] = s, s

	return s
}()

// value of CEL for JSON that is at a place. The schema is handed on: to look it up takes as many steps as the place has
// levels.
func (e *evaluation) value(at place, data any, schema map[string]any) ref.Val {
	switch data := data.(type) {
	case nil, bool, string, int64:
		return types.DefaultTypeAdapter.NativeToValue(data)
	case float64:
		return number(at, data, schema)
	case map[string]any:
		return e.value(at, Partial{Fields: data, Whole: data}, schema)
	case Partial:
		o := &object{view: view{place: at, schema: schema, evaluation: e}, fields: data.Fields}
		o.Mapper = types.NewStringInterfaceMap(&o.view, data.Whole)

		return o
	case []any:
		items, _ := schema["items"].(map[string]any)
		l := &list{view: view{place: at, schema: items, evaluation: e}, items: data}
		l.Lister = types.NewDynamicList(&l.view, data)

		return l
	case Unknown:
		return types.WrapErr(&Problem{Kind: Withheld, Message: at.String() + " " + string(data)})
	case []byte:
		return types.WrapErr(&Problem{
			Kind: Invalid,
			Message: at.String() +
				" is not UTF-8 text, and an expression can use no other; have the content encode it, for example as base64",
			Plain: true,
		})
	}

	return types.NewErr("%s is of no type that JSON has: %T", at.String(), data)
}

// number returns a number of the type that its schema says. Without one, an integral number is an integer. Beyond
// 2^53-1 it is an error: it may differ from the number in the manifest.
func number(at place, n float64, schema map[string]any) ref.Val {
	if schema["type"] == string(Number) || n != math.Trunc(n) || math.IsInf(n, 0) {
		return types.Double(n)
	}

	if math.Abs(n) > manifest.MaxExact {
		return types.WrapErr(inexact{at})
	}

	return types.Int(n)
}

// inexact is the error of an integer at a place. There may be many of them, at long paths, of which one is told.
type inexact struct{ place }

func (i inexact) Error() string {
	return i.String() + " is an integer beyond 2^53-1, which is not exact here; make it a string"
}

// Unknown stands in the data for a value that is there, and that is not known. It says why, after its place. An
// expression that asks for it, or only whether it is there, has no value.
type Unknown string

// A Partial is a JSON object of which some fields are there by name alone: the Whole is the value of the object, as
// that of a variable for example.
type Partial struct {
	Fields, Whole map[string]any
}

// An object is a JSON object as expressions see it: CEL's map of the whole, in which all fields can be found.
type object struct {
	traits.Mapper
	view

	fields map[string]any
}

// Find returns the value of a key, if it is there.
func (o *object) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}

	at := place{up: &o.place, name: string(name)}
	data, found := o.fields[string(name)]

	schema := below(o.schema, string(name))
	if schema == nil {
		schema, _ = o.schema["additionalProperties"].(map[string]any)
	}

	if o.up == nil && o.name == rootLocals {
		l := o.evaluation.local(string(name))
		data, found, schema = l.value, l.ok, exact
	}

	if !found {
		o.evaluation.miss(at)

		return nil, false
	}

	return o.evaluation.value(at, data, schema), true
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

// A list is a JSON list as expressions see it.
type list struct {
	traits.Lister
	view

	items []any
}

// Get an item.
func (l *list) Get(index ref.Val) ref.Val {
	if i, err := types.IndexOrError(index); err == nil && i >= 0 && i < len(l.items) {
		return l.evaluation.value(place{up: &l.place, index: i, isIndex: true}, l.items[i], l.schema)
	}

	return l.Lister.Get(index)
}

// Size is the number of items.
func (l *list) Size() ref.Val {
	// CEL asks for the size, and not for an item that is not there.
	l.evaluation.list = l

	return types.Int(len(l.items))
}

// Iterator of the items.
func (l *list) Iterator() traits.Iterator {
	values := make([]ref.Val, len(l.items))
	for i := range l.items {
		values[i] = l.Get(types.Int(i))
	}

	return types.NewRefValList(types.DefaultTypeAdapter, values).Iterator()
}

// maxName is how many bytes are shown of a name, which strangers may have written.
const maxName = 80

// A place is where a value is below a root, as it is written in an expression.
type place struct {
	// up is nil for roots, which are called by their name.
	up   *place
	name string
	// index in a list, where isIndex.
	index   int
	isIndex bool
}

// path of the names from that of the root on.
func (p *place) path() []string {
	if p.up == nil {
		return []string{p.name}
	}

	return append(p.up.path(), p.name)
}

// String returns the place as it is written in an expression.
func (p *place) String() string { return p.write("") }

// optional returns the place such that nothing has to be there.
func (p *place) optional() string { return p.write("?") }

func (p *place) write(mark string) string {
	var steps []string
	for at := p; at != nil; at, mark = at.up, "" {
		steps = append(steps, at.step(mark))
	}

	slices.Reverse(steps)

	return strings.Join(steps, "")
}

// step to the place from the one above it.
func (p *place) step(mark string) string {
	switch {
	case p.up == nil:
		return p.name
	case p.isIndex:
		return "[" + mark + strconv.Itoa(p.index) + "]"
	}

	name := clip.Text(p.name, maxName)
	if !isSelectable(name) {
		return "[" + mark + strconv.Quote(name) + "]"
	}

	return "." + mark + name
}

// selectable are names that can be written after a dot, and words that cannot.
var (
	selectable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	reserved   = []string{"in", "true", "false", "null"} //nolint:gochecknoglobals // It is a constant.
)

// isSelectable is true for names that can be written after a dot.
func isSelectable(name string) bool {
	return selectable.MatchString(name) && !slices.Contains(reserved, name)
}
