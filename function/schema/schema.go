// Package schema validates objects as the API server does, and converts values to what a
// schema has.
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

// A Schema validates objects as the API server would, had they been stored. It is
// safe for concurrent use.
type Schema struct {
	openAPI    validation.SchemaValidator
	structural *structuralschema.Structural
	rules      *cel.Validator
}

// New returns the Schema of the first version of a CustomResourceDefinition,
// given as YAML.
func New(definition []byte) (*Schema, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(definition, crd); err != nil {
		return nil, errors.Wrap(err, "cannot read the definition")
	}

	return Of(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
}

// Of returns the Schema of a whole object.
func Of(object *apiextensionsv1.JSONSchemaProps) (*Schema, error) { return of(object, true) }

// of is the Schema of a whole object, or of a field.
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

// at a path there is this part of the schema; an empty one where the schema does not say.
func (s *Schema) at(path string) *structuralschema.Structural {
	segments, _ := fieldpath.Parse(path) // The schema does not say what is at another path.
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

// Type of the field at a path; empty where the schema does not say.
func (s *Schema) Type(path string) string { return s.at(path).Type }

// values that a field may have; nil for a field without a list of them.
func (s *Schema) values(path string) []string {
	var values []string

	if v := s.at(path).ValueValidation; v != nil {
		for _, value := range v.Enum {
			values = append(values, fmt.Sprint(value.Object))
		}
	}

	return values
}

// violations of the schema that a value has which replaces another one, if there is one. Rules, and
// those of lists, expect what the schema promises.
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
		// A verdict on an input is kept, so it must not depend on a request.
		errs, _ = s.rules.Validate(context.Background(), nil, s.structural,
			manifest.WithIntegers(v), manifest.WithIntegers(old),
			celconfig.RuntimeCELCostBudget)
	}

	// The order of the validators is that of maps, which is random.
	slices.SortFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })

	return errs
}

// fewFields are as many as a message can list.
const fewFields = 5

// patterns of the schemas of inputs and AnsibleRuns, in words.
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

// explain an error that tells of the types of Go and of rules, by the value in an object and what it has to be.
func (s *Schema) explain(err *field.Error, object map[string]any) {
	value, _ := fieldpath.Pave(object).GetValue(err.Field) // What is not there is nil.

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

		// The words that YAML takes for booleans, such as y and off.
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

// Default fills in what an object does not say, as the API server does.
func (s *Schema) Default(object map[string]any) { defaulting.Default(object, s.structural) }

// Validate returns every violation of the schema, unknown fields included. What
// is suggested for one is its bad value.
func (s *Schema) Validate(object map[string]any) field.ErrorList {
	errs := s.violations(object, nil)
	for _, err := range errs {
		_, detail, ok := strings.Cut(err.Detail, " in body ")
		if ok {
			err.Detail = detail
		}

		s.explain(err, object)
	}

	// A fraction in a field of integers is reported twice, once without its path, and what is not of the type of the
	// values that a field may have is none of them.
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
