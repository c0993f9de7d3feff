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

// miss records a missing place.
func (e *evaluation) miss(at place) {
	if e.missed == nil {
		e.missed = map[string]*place{}
	}

	e.missed[at.name] = &at
}

// missing returns the missing place of an error of CEL; nil for an error with another cause.
func (e *evaluation) missing(err error) *place {
	message := err.Error()

	if _, key, ok := strings.Cut(message, "no such key: "); ok {
		return e.missed[key]
	}

	if _, index, ok := strings.Cut(message, "index out of bounds: "); ok && e.list != nil {
		// If the list has an item at the index, the error is about another list.
		if i, err := strconv.Atoi(index); err == nil && i >= len(e.list.items) {
			return &place{up: &e.list.place, index: i, isIndex: true}
		}
	}

	return nil
}

// A view is a JSON value as a CEL value. Its fields and items are converted when they are used.
type view struct {
	place

	schema     map[string]any
	evaluation *evaluation
}

// NativeToValue converts a field or item that CEL itself reads, for example for a comparison. A list has the schema of
// its items.
func (v *view) NativeToValue(data any) ref.Val { return v.evaluation.value(v.place, data, v.schema) }

// exact is the schema of values in which numbers that are doubles are float64, and others int64.
var exact = func() map[string]any { //nolint:gochecknoglobals // It is a constant.
	s := typed(Number)
	s["items"], s["additionalProperties"] = s, s

	return s
}()

// value returns the CEL value of the JSON at a place. The schema is passed along: a lookup takes as many steps as the
// place has levels.
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

// number returns a double for a number with a fraction, or with the type number in the schema. Otherwise it returns an
// integer, or an error beyond 2^53-1, since a float64 is not exact there.
func number(at place, n float64, schema map[string]any) ref.Val {
	if schema["type"] == string(Number) || n != math.Trunc(n) || math.IsInf(n, 0) {
		return types.Double(n)
	}

	if math.Abs(n) > manifest.MaxExact {
		return types.WrapErr(inexact{at})
	}

	return types.Int(n)
}

// inexact is the error of an inexact integer at a place. Its text is only written when the error is reported: a value
// may have many of them, at long paths.
type inexact struct{ place }

func (i inexact) Error() string {
	return i.String() + " is an integer beyond 2^53-1, which is not exact here; make it a string"
}

// Unknown replaces a withheld value in the data. It is the message after the place of the value. An expression that
// uses the value, or tests its existence, has a problem.
type Unknown string

// A Partial is a JSON object with fields that expressions see only by name. Fields has all fields. Whole is the value
// of the object itself, without them.
type Partial struct {
	Fields, Whole map[string]any
}

// An object is a JSON object as a CEL value: a map of the whole, see Partial, in which all fields can be found.
type object struct {
	traits.Mapper
	view

	fields map[string]any
}

// Find returns the value of a key, or false for a missing key.
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

// Get returns the value of a key, or an error for a missing key.
func (o *object) Get(key ref.Val) ref.Val {
	if v, ok := o.Find(key); ok {
		return v
	}

	return types.NewErr("no such key: %v", key)
}

// Contains is true if the object has the key. It is an error for a value that is an error, such as Unknown.
func (o *object) Contains(key ref.Val) ref.Val {
	v, found := o.Find(key)
	if found && types.IsError(v) {
		return v
	}

	return types.Bool(found)
}

// A list is a JSON list as a CEL value.
type list struct {
	traits.Lister
	view

	items []any
}

// Get returns an item, or an error for an invalid index.
func (l *list) Get(index ref.Val) ref.Val {
	if i, err := types.IndexOrError(index); err == nil && i >= 0 && i < len(l.items) {
		return l.evaluation.value(place{up: &l.place, index: i, isIndex: true}, l.items[i], l.schema)
	}

	return l.Lister.Get(index)
}

// Size returns the number of items.
func (l *list) Size() ref.Val {
	// For an index out of bounds, CEL calls Size, but not Get.
	l.evaluation.list = l

	return types.Int(len(l.items))
}

// Iterator returns an iterator over the items.
func (l *list) Iterator() traits.Iterator {
	values := make([]ref.Val, len(l.items))
	for i := range l.items {
		values[i] = l.Get(types.Int(i))
	}

	return types.NewRefValList(types.DefaultTypeAdapter, values).Iterator()
}

// maxName is the maximum length in bytes of a name in a message. Names may come from the XR.
const maxName = 80

// A place is the position of a value: a root, a field of an object, or an item of a list.
type place struct {
	// up is the place of the object or list; nil for a root.
	up   *place
	name string
	// index is used instead of name if isIndex is true.
	index   int
	isIndex bool
}

// path returns the names of the place, from the root on.
func (p *place) path() []string {
	if p.up == nil {
		return []string{p.name}
	}

	return append(p.up.path(), p.name)
}

// String returns the place as it is written in an expression.
func (p *place) String() string { return p.write("") }

// optional returns the place with a ? before its last name or index, as in xr.spec.?size.
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

// selectable matches identifiers; reserved has the keywords among them.
var (
	selectable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	reserved   = []string{"in", "true", "false", "null"} //nolint:gochecknoglobals // It is a constant.
)

// isSelectable is true for a name that can be written after a dot.
func isSelectable(name string) bool {
	return selectable.MatchString(name) && !slices.Contains(reserved, name)
}
