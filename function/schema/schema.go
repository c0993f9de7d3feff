// Package schema validates objects as the API server does, and converts values to the types of a schema.
package schema

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/spelling"
)

// A Schema validates objects as the API server does when they are stored. It is safe for concurrent use.
type Schema struct {
	openAPI    validation.SchemaValidator
	structural *structuralschema.Structural
	rules      *cel.Validator
}

// New returns the Schema of the first version of a CustomResourceDefinition in YAML.
func New(definition []byte) (*Schema, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(definition, crd); err != nil {
		return nil, errors.Wrap(err, "cannot read the definition")
	}

	return Of(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
}

// Of returns the Schema of an object with a kind and metadata.
func Of(object *apiextensionsv1.JSONSchemaProps) (*Schema, error) { return of(object, true) }

// of returns the Schema of an object with a kind and metadata if whole, and otherwise of a field.
func of(v1 *apiextensionsv1.JSONSchemaProps, whole bool) (*Schema, error) {
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, props, nil); err != nil {
		return nil, errors.Wrap(err, "cannot convert the schema")
	}

	openAPI, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a validator of the schema")
	}

	structural, err := structuralschema.NewStructural(props)
	if err != nil {
		return nil, errors.Wrap(err, "the schema is not structural")
	}

	return &Schema{
		openAPI:    openAPI,
		structural: structural,
		rules:      cel.NewValidator(structural, whole, celconfig.PerCallLimit),
	}, nil
}

// at returns the schema of the field at a path; an empty one when the schema does not declare the field.
func (s *Schema) at(path string) *structuralschema.Structural {
	segments, _ := fieldpath.Parse(path) // An invalid path has no segments.
	at := s.structural

	for _, segment := range segments {
		below, known := at.Properties[segment.Field]

		switch {
		case segment.Type == fieldpath.SegmentIndex && at.Items != nil:
			at = at.Items
		case known:
			at = &below
		default:
			return &structuralschema.Structural{}
		}
	}

	return at
}

// Type returns the type of the field at a path; empty when the schema does not declare it.
func (s *Schema) Type(path string) string { return s.at(path).Type }

// values returns the enum of the field at a path as text; nil for a field without one.
func (s *Schema) values(path string) []string {
	var values []string

	if v := s.at(path).ValueValidation; v != nil {
		for _, value := range v.Enum {
			values = append(values, fmt.Sprint(value.Object))
		}
	}

	return values
}

// violations returns the violations of the schema by a value v that replaces old, sorted by their text. old is nil when
// there is none. Uniqueness in lists and the CEL rules are checked only when the earlier checks pass, since they rely
// on the types.
func (s *Schema) violations(v, old any) field.ErrorList {
	errs := validation.ValidateCustomResource(nil, v, s.openAPI)

	if len(errs) == 0 {
		// A value that is no object is checked as a field of one.
		structural := &structuralschema.Structural{Properties: map[string]structuralschema.Structural{"value": *s.structural}}

		errs = listtype.ValidateListSetsAndMaps(nil, structural, map[string]any{"value": v})
		for _, err := range errs {
			err.Field = strings.TrimPrefix(strings.TrimPrefix(err.Field, "value"), ".")
		}
	}

	if len(errs) == 0 {
		// Results for an input are cached, so they must not depend on the context of a request.
		errs, _ = s.rules.Validate(context.Background(), nil, s.structural,
			manifest.WithIntegers(v), manifest.WithIntegers(old),
			celconfig.RuntimeCELCostBudget)
	}

	// The validators iterate over maps, in random order.
	slices.SortFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })

	return errs
}

// fewFields is how many fields a message lists at most.
const fewFields = 5

// patterns has, for the regular expressions in the schemas of inputs and AnsibleRuns, what a message says instead.
var patterns = map[string]string{ //nolint:gochecknoglobals // Go has no constant maps.
	`^\P{Cc}*$`:                "must not contain control characters, such as the end of a line",
	"^[A-Za-z_][A-Za-z0-9_]*$": "must be letters, digits and _, and not begin with a digit",
	"^[a-z][a-zA-Z0-9]*$":      "must be letters and digits, and begin with a lower-case letter",
	"^[A-Z][A-Za-z0-9]*$":      "must be letters and digits, and begin with an upper-case letter",
	"^[-._a-zA-Z0-9]+$":        "must be letters, digits and the characters -._",
	`^((git\+)?(https?|ssh|file)://[^\s-]|[A-Za-z0-9_][A-Za-z0-9_.-]*@[A-Za-z0-9_.-]+:[^\s:-])\S*$`: "must " +
		"be a URL such as https://git.example.org/acme/site.git, or user@host:path",
	`^([^\s:~^?*\[\\+@-][^\s:~^?*\[\\]*)?$`: "must be a tag, a branch or a commit",
}

// explain rewrites an error about the object for users of YAML: without types of Go and texts of rules, and with the
// value in the object.
func (s *Schema) explain(err *field.Error, object map[string]any) {
	value, _ := fieldpath.Pave(object).GetValue(err.Field) // A missing value is nil.

	if _, rule, ok := strings.Cut(err.Detail, " evaluating rule: "); ok {
		err.BadValue, err.Detail = value, rule
	}

	if pattern, ok := strings.CutPrefix(err.Detail, "should match '"); ok {
		err.Detail = cmp.Or(patterns[strings.TrimSuffix(pattern, "'")], err.Detail)
	}

	if values := s.values(err.Field); err.Type == field.ErrorTypeRequired && len(values) > 0 {
		err.Detail = "must be one of " + strings.Join(values, ", ")
	}

	want, ok := strings.CutPrefix(err.Detail, "must be of type ")
	if err.Type != field.ErrorTypeTypeInvalid || !ok {
		return
	}

	if value != nil {
		err.BadValue = value
	}

	switch want, _, _ = strings.Cut(want, ": "); want {
	case "object":
		err.Detail = "must be an object"
		if names := manifest.SortedKeys(s.at(err.Field).Properties); len(names) > 0 && len(names) <= fewFields {
			err.Detail += " with the fields " + strings.Join(names, ", ")
		}
	case "array":
		err.Detail = "must be a list"
	case "string":
		err.Detail = "must be a string"

		// YAML reads words such as y and off as booleans.
		switch value.(type) {
		case bool, int64, float64:
			err.Detail += ": write it in quotes"
		}
	case "boolean":
		err.Detail = "must be true or false"
	case "integer", "int32", "int64":
		err.Detail = "must be an integer"
	}
}

// Default sets the defaults of the schema in the object, as the API server does.
func (s *Schema) Default(object map[string]any) { defaulting.Default(object, s.structural) }

// Validate returns all violations of the schema, including unknown fields. The BadValue of an unknown field is the name
// that the message suggests, or "".
func (s *Schema) Validate(object map[string]any) field.ErrorList {
	errs := s.violations(object, nil)
	for _, err := range errs {
		_, detail, ok := strings.Cut(err.Detail, " in body ")
		if ok {
			err.Detail = detail
		}

		s.explain(err, object)
	}

	// A fraction in a field of integers is reported twice, once without its path. A value of the wrong type in a field
	// with an enum is reported as not in the enum, too.
	errs = slices.DeleteFunc(errs, func(err *field.Error) bool {
		return strings.HasPrefix(err.Detail, "Checked value must be of type") ||
			err.Type == field.ErrorTypeTypeInvalid && len(s.values(err.Field)) > 0
	})

	unknown := pruning.PruneWithOptions(runtime.DeepCopyJSON(object), s.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		at := strings.LastIndex(path, ".")
		name, names := path[at+1:], manifest.SortedKeys(s.at(path[:max(at, 0)]).Properties)
		err := field.Forbidden(field.NewPath(path), "there is no such field"+spelling.Hint(name, names))
		err.BadValue = spelling.Nearest(name, names)
		errs = append(errs, err)
	}

	return errs
}
