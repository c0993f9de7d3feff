package compile

import (
	"context"
	"maps"
	"math"
	"slices"
	"strconv"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression/value"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/spelling"
)

// StatusSchemas are the schemas of the fields of a status, by their templates.
type StatusSchemas map[*expression.Template]*FieldSchema

// A FieldSchema is the schema of a field of the status. The API server refuses all of a
// status for one field that does not fit, so such a field is left as it is.
type FieldSchema struct {
	schema    map[string]any
	validator validation.SchemaValidator
	// unknown is true for fields that the schema does not have, and the hint says
	// which one may be meant.
	unknown bool
	hint    string
	// required fields of an object whose fields have FieldSchemas of their own.
	required []string
}

// statusSchemasOf a status, by the OpenAPI v3 schema of an XR; none without a schema.
func statusSchemasOf(status *expression.Template, schema map[string]any) StatusSchemas {
	all := StatusSchemas{}
	if status == nil || len(schema) == 0 {
		return all
	}

	below, known := property(schema, "status")
	// Other steps may set required fields that this input does not have.
	if status.Fields() == nil {
		below = maps.Clone(below)
		delete(below, "required")
	}

	all.add(status, below, known)

	return all
}

func (all StatusSchemas) add(t *expression.Template, schema map[string]any, known bool) {
	if t.Fields() == nil || !known {
		all[t] = newFieldSchema(schema, known)
		return
	}

	// Other steps may set required fields that this input does not have.
	for name := range manifest.Set(schema["required"]) {
		if _, ok := t.Fields()[name]; ok {
			all.require(t, name)
		}
	}

	for name, f := range t.Fields() {
		below, known := property(schema, name)
		all.add(f, below, known)

		if !known {
			all[f].hint = hint(schema, name)
		}
	}
}

func (all StatusSchemas) require(t *expression.Template, name string) {
	if all[t] == nil {
		all[t] = &FieldSchema{}
	}

	all[t].required = append(all[t].required, name)
}

// Complete is true for an object with all fields that it has to have.
func (f *FieldSchema) Complete(object map[string]any) bool {
	if f == nil {
		return true
	}

	return !slices.ContainsFunc(f.required, func(name string) bool { return object[name] == nil })
}

// mistakes reports the fields that the XRD does not declare, and values that can never fit
// the XRD.
func (all StatusSchemas) mistakes(path *field.Path, t *expression.Template) field.ErrorList {
	var errs field.ErrorList

	f, ok := all[t]

	switch {
	case !ok || f.required != nil:
		for _, name := range manifest.SortedKeys(t.Fields()) {
			errs = append(errs, all.mistakes(path.Child(name), t.Fields()[name])...)
		}
	case f.unknown:
		errs = append(errs, field.Forbidden(path, "the XRD does not declare this field"+f.hint))
	case t.Computed():
		errs = typeMistakes(path, f.schema, t)
	default:
		// A literal value needs no data.
		v, _, _ := t.Evaluate(context.Background(), expression.Data{})
		if _, err := f.Convert(v); err != nil {
			errs = append(errs, field.Invalid(path, v, err.Error()))
		}
	}

	return errs
}

// typeMistakes reports a computed value, and fields and items in it, whose type is known and
// can never fit the schema.
func typeMistakes(path *field.Path, schema map[string]any, t *expression.Template) field.ErrorList {
	want := expression.Type(manifest.Text(schema, "type"))
	if !coercible(t.Type(), want) {
		return field.ErrorList{field.Invalid(path, t.String(), "must be of type "+string(want)+", as the XRD says, and is of type "+string(t.Type()))}
	}

	var errs field.ErrorList

	items, _ := schema["items"].(map[string]any)
	if want := expression.Type(manifest.Text(items, "type")); !coercible(t.ItemType(), want) && t.Items() == nil {
		errs = append(errs, field.Invalid(path, t.String(), "its items must be of type "+string(want)+", as the XRD says, and are of type "+string(t.ItemType())))
	}

	for i, item := range t.Items() {
		errs = append(errs, typeMistakes(path.Index(i), items, item)...)
	}

	for _, name := range manifest.SortedKeys(t.Fields()) {
		below, known := property(schema, name)
		if !known {
			errs = append(errs, field.Forbidden(path.Child(name), "the XRD does not declare this field"+hint(schema, name)))
			continue
		}

		errs = append(errs, typeMistakes(path.Child(name), below, t.Fields()[name])...)
	}

	return errs
}

// coercible is true when some values of a type can be converted to the wanted one, or when
// one of the types is not known.
func coercible(is, want expression.Type) bool {
	if is == "" || want == "" || is == want {
		return true
	}

	switch want {
	case expression.Boolean:
		return is == expression.String
	case expression.Integer, expression.Number:
		return is == expression.String || is == expression.Integer || is == expression.Number
	case expression.String:
		return is == expression.Boolean || is == expression.Integer || is == expression.Number
	}

	return false
}

// newFieldSchema returns the FieldSchema of a field. A schema that cannot be used checks
// nothing.
func newFieldSchema(schema map[string]any, known bool) *FieldSchema {
	f := &FieldSchema{schema: schema, unknown: !known}

	v1, internal := &apiextensionsv1.JSONSchemaProps{}, &apiextensions.JSONSchemaProps{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(schema, v1); err != nil {
		return f
	}

	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, internal, nil); err != nil {
		return f
	}

	if v, _, err := validation.NewSchemaValidator(internal); err == nil {
		f.validator = v
	}

	return f
}

// hint returns the end of a message about an unknown field: the field that may be meant.
func hint(schema map[string]any, name string) string {
	properties, _ := schema["properties"].(map[string]any)
	return spelling.Hint(name, manifest.SortedKeys(properties))
}

// property returns the schema of a field of an object; nil when the field may be anything.
// It is false when the object cannot have the field.
func property(schema map[string]any, name string) (map[string]any, bool) {
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

// Convert returns a value converted to the type of the field, without loss. The error says
// why the value does not fit.
func (f *FieldSchema) Convert(v any) (any, error) {
	if f == nil {
		return v, nil
	}

	if f.unknown {
		return nil, errors.New("the XRD does not declare this field")
	}

	v, err := coerce(f.schema, v)
	if err != nil || f.validator == nil || v == nil {
		return v, err
	}

	if errs := validation.ValidateCustomResource(nil, v, f.validator); len(errs) > 0 {
		return nil, errors.Errorf("does not fit the XRD: %s", errs[0].ErrorBody())
	}

	return v, nil
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
		below, known := property(schema, k)
		if !known {
			return nil, errors.Errorf("the XRD does not declare its field %.80q%s", k, hint(schema, k))
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

// compileStatus returns the template of the XR's status; nil if the input has none.
func compileStatus(env *expression.Environment, in map[string]any) (*expression.Template, field.ErrorList) {
	v, ok := in["status"]
	if !ok {
		return nil, nil
	}

	path := field.NewPath("status")
	t, errs := env.Compile(path, v)

	if t.Fields() == nil && !t.Computed() {
		errs = append(errs, field.Invalid(path, v, "must be fields, or an expression that is an object"))
	}

	errs = append(errs, mistyped(path, t, expression.Object)...)

	for _, name := range manifest.ReservedStatus {
		if _, ok := t.Fields()[name]; ok {
			errs = append(errs, field.Forbidden(path.Child(name), "this field is Crossplane's own"))
		}
	}

	return t, errs
}
