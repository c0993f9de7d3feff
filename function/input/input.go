// Package input reads the input of a step and validates it against its schema. Each error has the path of the mistake
// in the input.
package input

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/fields"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/schema"
	shipped "github.com/crossplane-ansible/crossplane-ansible/package-function/input"
)

// shippedSchemas returns the compiled schemas of the input and of its settings. It compiles them once, since that takes
// longer than reading an input. The shipped schema has the fields of runs only; those of the defaults are copied from
// it.
var shippedSchemas = sync.OnceValues(func() (all struct{ input, settings *schema.Schema }, err error) { //nolint:gochecknoglobals // They are constants that have to be compiled.
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(shipped.Schema, crd); err != nil {
		return all, err
	}

	in := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	some := func(is func(fields.Field) bool) apiextensionsv1.JSONSchemaProps {
		of := in.Properties["runs"].Items.Schema.DeepCopy()
		of.Required = nil
		maps.DeleteFunc(of.Properties,
			func(name string, _ apiextensionsv1.JSONSchemaProps) bool { return !is(fields.Of(name)) })

		return *of
	}

	settings := some(func(f fields.Field) bool { return f.Kind == fields.Setting })
	in.Properties["defaults"] = some(func(f fields.Field) bool { return !f.Own })

	if all.settings, err = schema.Of(&settings); err == nil {
		all.input, err = schema.Of(in)
	}

	return all, err
})

// Read returns a copy of an input in JSON, with integral numbers as int64 and others as float64. The errors are
// violations of the schema, expressions in literal fields, and numbers that are not exact, sorted by their text. For an
// object of another kind, Read returns one error and no input.
func Read(in map[string]any) (map[string]any, field.ErrorList) {
	shipped, err := shippedSchemas()
	if err != nil {
		return nil, field.ErrorList{field.InternalError(nil, errors.Wrap(err, "cannot use the schema of the input"))}
	}

	in, _ = manifest.WithIntegers(in).(map[string]any)

	// The version is checked after the kind, on which it depends.
	for _, is := range [][2]string{{"kind", v1alpha1.KindAnsibleRuns}, {"apiVersion", v1alpha1.APIVersion}} {
		if in[is[0]] != is[1] {
			return nil, field.ErrorList{
				field.Invalid(field.NewPath(is[0]), in[is[0]],
					"the input must be of apiVersion "+v1alpha1.APIVersion+", kind "+v1alpha1.KindAnsibleRuns),
			}
		}
	}

	// The schema describes literal content. Package compile checks content with expressions.
	errs, reported := inexactNumbers(nil, in), map[string]bool{}
	for _, s := range sections(in) {
		errs = append(errs, s.unescape(reported)...)
	}

	violations := shipped.input.Validate(withoutComputed(in))
	// An unknown field may be the misspelt name of a field that can hold an expression.
	errs = slices.DeleteFunc(errs, func(err *field.Error) bool {
		return slices.ContainsFunc(violations, func(v *field.Error) bool {
			return v.Type == field.ErrorTypeForbidden && isBelow(err.Field, v.Field)
		})
	})

	// A field with an error already is likely to violate the schema, too.
	for _, err := range errs {
		reported[err.Field] = true
	}

	for _, err := range violations {
		if reported[err.Field] {
			continue
		}

		if inventoryField.MatchString(err.Field) {
			err.Detail = "there is no such field: write inventories: [{yaml: …}], [{inline: …}] or [{path: …}]"
		}

		if name, ok := strings.CutPrefix(err.Field, "defaults."); ok && fields.Of(name).Own {
			err.Detail, err.BadValue = "defaults do not have this field; write it in each run", nil
		}

		errs = append(errs, err)
	}

	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })

	return in, errs
}

// Type returns the type of a setting in the schema.
func Type(name string) expression.Type {
	shipped, err := shippedSchemas()
	if err != nil {
		return ""
	}

	return expression.Type(shipped.settings.Type(name))
}

// Check validates a computed value of a setting as if it were literal. The error is for expression.InvalidAt.
func Check(name string, v any) error {
	shipped, err := shippedSchemas()
	if err != nil {
		return err
	}

	for _, err := range shipped.settings.Validate(map[string]any{name: manifest.WithIntegers(v)}) {
		return errors.Errorf("%s: %s is invalid: %s", strings.TrimPrefix(err.Field, name), manifest.Show(err.BadValue),
			err.Detail)
	}

	return nil
}

// withoutComputed returns the input without computed settings. The schema describes literal settings, and its CEL rules
// are checked only when everything else is valid.
func withoutComputed(in map[string]any) map[string]any {
	in = runtime.DeepCopyJSON(in)

	for _, s := range sections(in) {
		maps.DeleteFunc(s.object, func(name string, v any) bool {
			f := fields.Of(name)
			return f.Kind == fields.Setting && f.Computes(v)
		})
	}

	return in
}

// inventoryField matches the names of fields for inventories in AnsibleRuns and options of ansible-playbook that the
// input does not have.
var inventoryField = regexp.MustCompile(`^(runs\[\d+\]|defaults)\.inventory(Inline)?$`)

// OriginAnsibleRun is the Origin of errors in an AnsibleRun that was rendered from the input.
const OriginAnsibleRun = "AnsibleRun"

// Causes returns the errors of an input once each, with the path at which the mistake was written. It leaves out errors
// that follow from others:
//   - A required field is missing, and an unknown field has a similar name, which is its BadValue, see schema.Validate.
//   - A field is below a value of the wrong type.
//   - The rendered AnsibleRun has an error at a path where the input has one.
func Causes(in map[string]any, errs field.ErrorList) field.ErrorList {
	errs = atSource(in, errs)

	return slices.DeleteFunc(errs, func(err *field.Error) bool {
		if slices.ContainsFunc(errs, func(known *field.Error) bool {
			below := isBelow(err.Field, known.Field)

			return known.Type == field.ErrorTypeTypeInvalid && below && err.Field != known.Field ||
				err.Origin == OriginAnsibleRun && known.Origin != OriginAnsibleRun && (below || isBelow(known.Field, err.Field))
		}) {
			return true
		}

		return err.Type == field.ErrorTypeRequired && slices.ContainsFunc(errs, func(unknown *field.Error) bool {
			meant, _ := unknown.BadValue.(string)
			if unknown.Type != field.ErrorTypeForbidden || meant == "" {
				return false
			}

			in := unknown.Field[:max(strings.LastIndex(unknown.Field, "."), 0)]

			// A rule of the schema may name the missing fields in its message, with the path of the run.
			return err.Field == in+"."+meant ||
				(err.Field == in || in == "defaults") && slices.Contains(strings.FieldsFunc(err.Detail, isSeparator), meant)
		})
	})
}

// runField matches the path of a field of a run. part matches a part of it: the name of a field, a key or an index.
var runField, part = regexp.MustCompile(`^runs\[(\d+)\]\.(.+)$`), regexp.MustCompile(`[^.\[\]]+`)

// atSource returns errors without duplicates. An error about a value that a run has from the defaults gets its path in
// the defaults.
func atSource(in map[string]any, errs field.ErrorList) field.ErrorList {
	runs, _ := in["runs"].([]any)
	seen := map[string]bool{}

	var all field.ErrorList

	for _, err := range errs {
		e := *err

		if m := runField.FindStringSubmatch(e.Field); m != nil {
			parts := part.FindAllString(m[2], -1)

			i, _ := strconv.Atoi(m[1])
			if i < len(runs) && depth(in["defaults"], parts) > depth(runs[i], parts) {
				e.Field = "defaults." + m[2]
			}
		}

		if key := e.Origin + e.Error(); !seen[key] {
			seen[key] = true
			all = append(all, &e)
		}
	}

	return all
}

// depth returns how many parts of a path exist in an object.
func depth(v any, parts []string) int {
	for i, p := range parts {
		m, ok := v.(map[string]any)
		if v, ok = m[p], ok && m[p] != nil; !ok {
			return i
		}
	}

	return len(parts)
}

// isBelow is true for a path that is equal to another one, or below it.
func isBelow(path, above string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func isSeparator(r rune) bool { return r == ' ' || r == ',' }

// unescape replaces $${ by ${ in literal texts. Evaluation does so in other texts. It returns an error for each literal
// text with an expression. It adds the paths of all references to computed: true for content with an expression.
func (s section) unescape(computed map[string]bool) field.ErrorList {
	var errs field.ErrorList

	for _, name := range slices.Sorted(maps.Keys(s.object)) {
		f, path := fields.Of(name), s.path.Child(name)

		if f.Computes(s.object[name]) {
			continue
		}

		s.object[name] = fields.Replace(path, name, s.object[name], func(t fields.Text) any {
			holds := strings.Contains(strings.ReplaceAll(t.Value, "$${", ""), "${")

			switch {
			case t.Computes() && f.Kind == fields.Referring:
				computed[t.Path.String()] = t.Meaning == fields.Content && strings.Contains(t.Value, "${")
				return t.Value
			case holds:
				errs = append(errs, field.Invalid(t.Path, t.Value, "this field is literal, it cannot hold an expression; "+
					"pass the value in vars, or write $${ for the text ${"))
			}

			return strings.ReplaceAll(t.Value, "$${", "${")
		})
	}

	return errs
}

// inexactNumbers returns an error for each number that may differ from the one in the Composition. Requests carry
// numbers as float64, which has all integers up to 2^53-1.
func inexactNumbers(path *field.Path, v any) field.ErrorList {
	var errs field.ErrorList

	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			errs = append(errs, inexactNumbers(path.Child(k), v[k])...)
		}
	case []any:
		for i := range v {
			errs = append(errs, inexactNumbers(path.Index(i), v[i])...)
		}
	case float64:
		if math.Abs(v) > manifest.MaxExact {
			errs = append(errs, field.Invalid(path, number(v), "integers are exact up to 2^53-1 only; write it as a string"))
		}
	}

	return errs
}

// A section is a part of the input with fields of runs: the defaults, or one run.
type section struct {
	path   *field.Path
	object map[string]any
}

// sections returns the defaults and all runs.
func sections(in map[string]any) []section {
	var all []section

	if d, ok := in["defaults"].(map[string]any); ok {
		all = append(all, section{path: field.NewPath("defaults"), object: d})
	}

	runs, _ := in["runs"].([]any)
	for i := range runs {
		if r, ok := runs[i].(map[string]any); ok {
			all = append(all, section{path: field.NewPath("runs").Index(i), object: r})
		}
	}

	return all
}

// number returns a number for a message: as an int64, with all digits, if it fits.
func number(v float64) any {
	if math.Abs(v) < math.MaxInt64 {
		return int64(v)
	}

	return v
}
