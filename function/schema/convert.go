package schema

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/spelling"
)

// A Converter converts computed values to the types of an OpenAPI v3 schema of a field, as an apply needs them.
type Converter struct {
	Schema map[string]any
	// Fields has the Converters of the fields of an object that are applied one by one.
	Fields map[string]*Converter

	// validator is compiled on first use, since some are never used.
	validator func() (*Schema, error)
}

// NewConverter returns the Converter of a schema. If the schema cannot be compiled, the Converter validates nothing.
func NewConverter(schema map[string]any) *Converter {
	return &Converter{
		Schema: schema, Fields: map[string]*Converter{},
		validator: sync.OnceValues(func() (*Schema, error) {
			v1 := &apiextensionsv1.JSONSchemaProps{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(schema, v1); err != nil {
				return nil, err
			}

			return of(v1, false)
		}),
	}
}

// Convert converts a value to the type of the field without loss. It returns nil for a value that is to be left out.
// The error says why the value does not fit; it begins with the path below the value, as InvalidAt of package
// expression expects.
func (c *Converter) Convert(v any) (any, error) {
	v, err := coerce(c.Schema, v, true)
	if err != nil || v == nil || merges(c.Schema, v) && isEmpty(v) {
		return nil, err
	}

	if errs := c.Refused(v, nil); len(errs) > 0 {
		at := strings.NewReplacer(".<nil>", "", ".[", "[").Replace("." + errs[0].Field)
		return nil, errors.Errorf("%s: does not fit the XRD: %s", at, errs[0].ErrorBody())
	}

	return v, nil
}

// Refused returns why the API server would refuse to replace the old value by v: violations of the schema that the old
// value does not have. old is nil when there is none.
func (c *Converter) Refused(v, old any) field.ErrorList {
	validator, err := c.validator()
	if err != nil {
		return nil
	}

	errs := validator.violations(v, old)
	if len(errs) == 0 || old == nil {
		return errs
	}

	known := map[string]bool{}
	for _, err := range validator.violations(old, old) {
		known[err.Error()] = true
	}

	return slices.DeleteFunc(errs, func(err *field.Error) bool { return known[err.Error()] })
}

// merges is true for an object or a list that the API server merges by its members. If the last apply of such a value
// had members and the next one has none, the API server turns it into null, and refuses that.
func merges(schema map[string]any, v any) bool {
	switch v.(type) {
	case map[string]any:
		return schema["x-kubernetes-map-type"] != "atomic"
	case []any:
		return schema["x-kubernetes-list-type"] == "map" || schema["x-kubernetes-list-type"] == "set"
	}

	return false
}

// isEmpty is true for an object or a list without members.
func isEmpty(v any) bool {
	object, isObject := v.(map[string]any)
	list, isList := v.([]any)

	return isObject && len(object) == 0 || isList && len(list) == 0
}

// Hint returns the end of a message about an unknown field: the property with the nearest name, see spelling.Hint.
func Hint(schema map[string]any, name string) string {
	properties, _ := schema["properties"].(map[string]any)
	return spelling.Hint(name, manifest.SortedKeys(properties))
}

// Property returns the schema of a field of an object; nil when the schema allows any value. It returns false when the
// schema does not allow the field.
func Property(schema map[string]any, name string) (map[string]any, bool) {
	properties, _ := schema["properties"].(map[string]any)
	if p, ok := properties[name].(map[string]any); ok {
		return p, true
	}

	switch additional := schema["additionalProperties"].(type) {
	case map[string]any:
		return additional, true
	case bool:
		return nil, additional
	}

	return nil, len(schema) == 0 || schema["x-kubernetes-preserve-unknown-fields"] == true
}

// coerce converts a JSON value to the type of a schema. If the value is merged, it leaves out empty objects and lists
// within it that are merged, too.
func coerce(schema map[string]any, v any, merged bool) (any, error) {
	if schema["x-kubernetes-int-or-string"] == true {
		return v, nil
	}

	typ := manifest.Text(schema, "type")

	switch v := v.(type) {
	case map[string]any:
		if typ == "object" || typ == "" {
			return coerceObject(schema, v, merged && merges(schema, v))
		}
	case []any:
		if typ == "array" || typ == "" {
			return coerceList(schema, v, merged && merges(schema, v))
		}
	case string:
		return coerceText(typ, v)
	case bool:
		switch typ {
		case "boolean", "":
			return v, nil
		case "string":
			return strconv.FormatBool(v), nil
		}
	case float64:
		switch {
		case typ == "number" || typ == "" || typ == "integer" && v == math.Trunc(v):
			return v, nil
		case typ == "string":
			return strconv.FormatFloat(v, 'f', -1, 64), nil
		}
	case nil:
		return nil, nil
	}

	return nil, errors.Errorf("is not of type %s, as the XRD says", typ)
}

func coerceText(typ, s string) (any, error) {
	switch typ {
	case "integer", "number":
		n, err := strconv.ParseFloat(s, 64)
		if err == nil && strconv.FormatFloat(n, 'f', -1, 64) == s && math.Abs(n) <= manifest.MaxExact &&
			(typ == "number" || n == math.Trunc(n)) {
			return n, nil
		}
	case "boolean":
		switch s {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	case "string", "":
		return s, nil
	}

	return nil, errors.Errorf("is not of type %s, as the XRD says", typ)
}

func coerceObject(schema, v map[string]any, merged bool) (any, error) {
	out := make(map[string]any, len(v))

	for _, k := range manifest.SortedKeys(v) {
		below, known := Property(schema, k)
		if !known {
			return nil, errors.Errorf("the XRD does not declare its field %.80q%s", k, Hint(schema, k))
		}

		// The API server drops a null that the schema does not allow.
		if v[k] == nil && manifest.Text(below, "type") != "" && below["nullable"] != true {
			continue
		}

		value, err := coerce(below, v[k], merged)
		if err != nil {
			return nil, errors.Wrapf(err, ".%.80s", k)
		}

		switch empty := merged && merges(below, value) && isEmpty(value); {
		case empty && manifest.Set(schema["required"])[k]:
			return nil, errors.Errorf("%.80s has no entries, and the XRD requires it", k)
		case !empty:
			out[k] = value
		}
	}

	return out, nil
}

func coerceList(schema map[string]any, v []any, merged bool) (any, error) {
	items, _ := schema["items"].(map[string]any)
	out := make([]any, len(v))

	for i := range v {
		value, err := coerce(items, v[i], merged)
		if err != nil {
			return nil, errors.Wrapf(err, "[%d]", i)
		}

		out[i] = value
	}

	return out, nil
}
