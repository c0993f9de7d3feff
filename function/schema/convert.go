package schema

import (
	"math"
	"strconv"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression/value"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/spelling"
)

// A Converter converts values to the OpenAPI v3 schema of a field.
type Converter struct {
	Schema map[string]any

	validator validation.SchemaValidator
}

// NewConverter returns the Converter of a schema. One that cannot be used checks nothing.
func NewConverter(schema map[string]any) Converter {
	c := Converter{Schema: schema}

	v1, internal := &apiextensionsv1.JSONSchemaProps{}, &apiextensions.JSONSchemaProps{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(schema, v1); err != nil {
		return c
	}

	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, internal, nil); err != nil {
		return c
	}

	if v, _, err := validation.NewSchemaValidator(internal); err == nil {
		c.validator = v
	}

	return c
}

// Convert returns a value converted to the type of the field, without loss. The error says
// why the value does not fit.
func (c Converter) Convert(v any) (any, error) {
	v, err := coerce(c.Schema, v)
	if err != nil || c.validator == nil || v == nil {
		return v, err
	}

	if errs := validation.ValidateCustomResource(nil, v, c.validator); len(errs) > 0 {
		return nil, errors.Errorf("does not fit the XRD: %s", errs[0].ErrorBody())
	}

	return v, nil
}

// Hint returns the end of a message about an unknown field: the field that may be meant.
func Hint(schema map[string]any, name string) string {
	properties, _ := schema["properties"].(map[string]any)
	return spelling.Hint(name, manifest.SortedKeys(properties))
}

// Property returns the schema of a field of an object; nil when the field may be anything.
// It is false when the object cannot have the field.
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

// coerce converts a JSON value to the type that a schema has.
func coerce(schema map[string]any, v any) (any, error) {
	if schema["x-kubernetes-int-or-string"] == true {
		return v, nil
	}

	typ := manifest.Text(schema, "type")

	switch v := v.(type) {
	case map[string]any:
		if typ == "object" || typ == "" {
			return coerceObject(schema, v)
		}
	case []any:
		if typ == "array" || typ == "" {
			return coerceList(schema, v)
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
		if err == nil && strconv.FormatFloat(n, 'f', -1, 64) == s && math.Abs(n) <= value.MaxExact && (typ == "number" || n == math.Trunc(n)) {
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

func coerceObject(schema, v map[string]any) (any, error) {
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

		value, err := coerce(below, v[k])
		if err != nil {
			return nil, errors.Wrapf(err, "%.80s", k)
		}

		out[k] = value
	}

	return out, nil
}

func coerceList(schema map[string]any, v []any) (any, error) {
	items, _ := schema["items"].(map[string]any)
	out := make([]any, len(v))

	for i := range v {
		value, err := coerce(items, v[i])
		if err != nil {
			return nil, errors.Wrapf(err, "[%d]", i)
		}

		out[i] = value
	}

	return out, nil
}
