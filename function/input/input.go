// Package input reads the function's input: strictly, and with every mistake
// at its path.
package input

import (
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression/value"
	"github.com/crossplane-ansible/crossplane-ansible/function/schema"
	shipped "github.com/crossplane-ansible/crossplane-ansible/package-function/input"
)

// A Reader reads the function's input.
type Reader struct {
	schema *schema.Schema
}

// The schema takes longer to compile than most inputs take to read.
var shippedSchema = sync.OnceValues(func() (*schema.Schema, error) { return schema.New(shipped.Schema) }) //nolint:gochecknoglobals // It is a constant that has to be compiled.

// NewReader returns a Reader for inputs of the shipped schema.
func NewReader() (*Reader, error) {
	s, err := shippedSchema()
	return &Reader{schema: s}, errors.Wrap(err, "cannot use the schema of the input")
}

// Read the input: JSON values whose numbers are int64 where they are integral,
// and float64 elsewhere. The errors are all violations of the schema, and
// expressions in fields that are literal, in the order of their text.
func (r *Reader) Read(s *structpb.Struct) (map[string]any, field.ErrorList) {
	in, _ := integers(s.AsMap()).(map[string]any)

	// The version is checked after the kind, on which it depends.
	for _, name := range []string{"kind", "apiVersion"} {
		if want := map[string]string{"apiVersion": v1alpha1.APIVersion, "kind": v1alpha1.KindAnsibleRuns}[name]; in[name] != want {
			return nil, field.ErrorList{field.Invalid(field.NewPath(name), in[name], "the input must be of apiVersion "+v1alpha1.APIVersion+", kind "+v1alpha1.KindAnsibleRuns)}
		}
	}

	errs := append(literals(in), inexact(nil, in)...)

	// An expression in a literal field is likely not of the field's type either. One
	// mistake is enough.
	said := map[string]bool{}
	for _, err := range errs {
		said[err.Field] = true
	}

	// The schema has only the literal values of settings that may be computed.
	for _, t := range templates(in) {
		for name, v := range t.object {
			if isSetting(name) && computed(name, v) {
				said[t.path.Child(name).String()] = true
			}
		}
	}

	for _, err := range r.schema.Validate(in) {
		if !said[err.Field] {
			errs = append(errs, err)
		}
	}

	// Those of the schema are in the order of maps, which is random.
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })

	for _, t := range templates(in) {
		for name := range t.object {
			if !computed(name, t.object[name]) {
				t.object[name] = unescape(name, t.object[name])
			}
		}
	}

	return in, errs
}

// Causes returns the mistakes without those that follow from others: a required field is
// not missing when it is misspelt.
func Causes(errs field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(slices.Clone(errs), func(err *field.Error) bool {
		return err.Type == field.ErrorTypeRequired && slices.ContainsFunc(errs, func(unknown *field.Error) bool {
			meant, _ := unknown.BadValue.(string)
			if unknown.Type != field.ErrorTypeForbidden || meant == "" {
				return false
			}

			in := unknown.Field[:max(strings.LastIndex(unknown.Field, "."), 0)]

			// A run says itself which fields it lacks.
			return err.Field == in+"."+meant ||
				(err.Field == in || in == "defaults") && slices.Contains(strings.FieldsFunc(err.Detail, isSeparator), meant)
		})
	})
}

func isSeparator(r rune) bool { return r == ' ' || r == ',' }

// computed fields may hold expressions.
func computed(name string, v any) bool {
	switch name {
	case "vars", "when", "readyWhen", "forEach", "forEachKey", "previousNames", "varsFrom", "inventory", "labels", "annotations":
		return true
	}

	if list, ok := v.([]any); ok {
		return slices.ContainsFunc(list, func(item any) bool { return computed(name, item) })
	}

	s, ok := v.(string)

	return ok && isSetting(name) && strings.Contains(s, "${")
}

// isSetting is true for a field that is literal or an expression.
func isSetting(name string) bool {
	switch name {
	case "runPolicy", "managementPolicies", "deletionPolicy", "tags", "skipTags", "limit", "timeout", "retryLimit", "verbosity":
		return true
	}

	return false
}

// integers replaces integral numbers by int64, which is what schemas and Go
// types expect.
func integers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = integers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	case float64:
		// Conversion is defined within the range of int64 only.
		if v == math.Trunc(v) && math.Abs(v) <= value.MaxExact {
			return int64(v)
		}
	}

	return v
}

// literals returns the literal fields that hold an expression.
func literals(in map[string]any) field.ErrorList {
	var errs field.ErrorList

	for _, t := range templates(in) {
		for _, name := range slices.Sorted(maps.Keys(t.object)) {
			if !computed(name, t.object[name]) {
				errs = append(errs, literal(t.path.Child(name), name, t.object[name])...)
			}
		}
	}

	return errs
}

// literal returns the expressions in a field of a name, other than those for the
// names of other objects.
func literal(path *field.Path, name string, v any) field.ErrorList {
	var errs field.ErrorList

	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if !isReference(name, k) {
				errs = append(errs, literal(path.Child(k), k, v[k])...)
			}
		}
	case []any:
		for i := range v {
			errs = append(errs, literal(path.Index(i), "", v[i])...)
		}
	case string:
		if strings.Contains(strings.ReplaceAll(v, "$${", ""), "${") {
			errs = append(errs, field.Invalid(path, v, "this field is literal, it cannot hold an expression; write $${ for the text ${"))
		}
	}

	return errs
}

// isReference is true for a field that names another object, which may hold an
// expression.
func isReference(parent, name string) bool {
	return name == "name" && strings.HasSuffix(parent, "Ref")
}

// unescape replaces $${ in all strings, as in those with expressions.
func unescape(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if !isReference(name, k) {
				v[k] = unescape(k, v[k])
			}
		}
	case []any:
		for i := range v {
			v[i] = unescape("", v[i])
		}
	case string:
		return strings.ReplaceAll(v, "$${", "${")
	}

	return v
}

// inexact returns the numbers that may not be what was written: requests carry
// doubles, which are exact up to 2^53.
func inexact(path *field.Path, v any) field.ErrorList {
	var errs field.ErrorList

	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			errs = append(errs, inexact(path.Child(k), v[k])...)
		}
	case []any:
		for i := range v {
			errs = append(errs, inexact(path.Index(i), v[i])...)
		}
	case float64:
		if math.Abs(v) > value.MaxExact {
			errs = append(errs, field.Invalid(path, number(v), "integers are exact up to 2^53 only; write it as a string"))
		}
	}

	return errs
}

type template struct {
	path   *field.Path
	object map[string]any
}

// templates returns the defaults and all runs.
func templates(in map[string]any) []template {
	var ts []template

	if d, ok := in["defaults"].(map[string]any); ok {
		ts = append(ts, template{path: field.NewPath("defaults"), object: d})
	}

	runs, _ := in["runs"].([]any)
	for i := range runs {
		if r, ok := runs[i].(map[string]any); ok {
			ts = append(ts, template{path: field.NewPath("runs").Index(i), object: r})
		}
	}

	return ts
}

// number returns an integral number such that messages show its digits.
func number(v float64) any {
	if math.Abs(v) < math.MaxInt64 {
		return int64(v)
	}

	return v
}
