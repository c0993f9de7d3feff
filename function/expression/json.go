package expression

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"math"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

const (
	// maxSize is the limit of one value in bytes: core receives no larger response.
	maxSize = 4 << 20
	// maxDepth is the limit of nested values. Each level is three levels of the response, which protobuf limits to 10,000.
	maxDepth = 3_000
	// perValue is the size of a number in a response.
	perValue = 8
	// perParts is the additional size of a list or an object: about a tenth of an empty one in memory.
	perParts = 24
)

// A writer converts CEL values to JSON. Bytes become base64, and durations and timestamps become strings. It counts the
// size of the result, since a CEL value may contain the same large value many times.
type writer struct {
	// exact is true if integers become int64. Otherwise all numbers become float64.
	exact bool
	// bytes is the approximate size of the result.
	bytes int
	// depth is the depth of the current value.
	depth int
	// err is the first error: a value without a form in JSON, or a value that is too large or too deep.
	err error
}

// json returns a CEL value as JSON. ok is false after an error, and for optional.none(), which is left out of lists and
// objects.
func (w *writer) json(val ref.Val) (v any, ok bool) {
	w.bytes += perValue

	switch {
	case w.err != nil:
		return nil, false
	case w.depth > maxDepth:
		return w.fail(errors.Errorf("the value is more than %d levels deep", maxDepth))
	}

	w.depth++
	v, ok = w.value(val)
	w.depth--

	if w.bytes > maxSize {
		return w.fail(errors.New("the value is larger than 4 MiB"))
	}

	return v, ok && w.err == nil
}

func (w *writer) fail(err error) (any, bool) {
	w.err = cmp.Or(w.err, err)

	return nil, false
}

func (w *writer) value(val ref.Val) (v any, ok bool) {
	switch val := val.(type) {
	case *types.Err:
		return w.fail(val)
	case *types.Optional:
		if !val.HasValue() {
			return nil, false
		}

		return w.json(val.GetValue())
	case types.Null:
		return nil, true
	case types.Bool:
		return bool(val), true
	case types.String:
		w.bytes += len(val)
		return string(val), true
	case types.Int:
		return w.integer(int64(val))
	case types.Uint:
		return w.integer(int64(min(val, math.MaxInt64)))
	case types.Double:
		if math.IsNaN(float64(val)) || math.IsInf(float64(val), 0) {
			return w.fail(errors.Errorf("%v is not a number in JSON", val))
		}

		return float64(val), true
	case types.Bytes:
		w.bytes += len(val)
		return base64.StdEncoding.EncodeToString(val), true
	case types.Duration, types.Timestamp:
		return val.ConvertToType(types.StringType).Value(), true
	case traits.Mapper:
		w.bytes += perParts
		return w.object(val), true
	case traits.Lister:
		w.bytes += perParts
		return w.list(val), true
	}

	return w.fail(errors.Errorf("a value of type %s cannot be used as it is; make it a string or a number",
		val.Type().TypeName()))
}

func (w *writer) integer(n int64) (any, bool) {
	switch {
	case n > manifest.MaxExact || n < -manifest.MaxExact:
		return w.fail(errors.Errorf("%d is beyond 2^53-1, which is not exact; make it a string", n))
	case w.exact:
		return n, true
	}

	return float64(n), true
}

func (w *writer) list(lister traits.Lister) []any {
	l := []any{}

	for it := lister.Iterator(); w.err == nil && it.HasNext() == types.True; {
		if v, ok := w.json(it.Next()); ok {
			l = append(l, v)
		}
	}

	return l
}

func (w *writer) object(mapper traits.Mapper) map[string]any {
	m := map[string]any{}

	// The order determines which of several errors is reported.
	for it := (ordered{mapper}).Iterator(); w.err == nil && it.HasNext() == types.True; {
		k := it.Next()

		name, ok := k.(types.String)
		if !ok {
			w.fail(errors.Errorf("the keys of a map must be strings, not %v", k.Value()))
		}

		w.bytes += len(name)

		if v, ok := w.json(mapper.Get(k)); ok {
			m[string(name)] = v
		}
	}

	return m
}

// marshalJSON returns a value as a JSON string with sorted fields.
func marshalJSON(v ref.Val) ref.Val {
	w := writer{}

	plain, ok := w.json(v)
	if !ok {
		return types.WrapErr(cmp.Or(w.err, errors.New("there is no value to encode; use orValue")))
	}

	var b bytes.Buffer

	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)

	if err := enc.Encode(plain); err != nil {
		return types.WrapErr(err)
	}

	return types.String(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// unmarshalJSON returns the value of a string with one JSON document.
func unmarshalJSON(text ref.Val) ref.Val {
	s, _ := text.(types.String)

	var v any
	if err := utiljson.Unmarshal([]byte(s), &v); err != nil {
		return types.NewErr("the text is not JSON: %s", clip.Text(err.Error(), maxMessage))
	}

	return (&evaluation{}).value(place{name: functionJSONUnmarshal + "(…)"}, v, nil)
}
