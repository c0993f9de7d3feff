package compile

import (
	"maps"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/package-provider/crds"
)

// scopes are the environments that compile the expressions of an input. Which one does
// depends on the field that the expression is in.
type scopes struct {
	// xr is for expressions outside of items. In item, expressions also see each.
	xr, item *expression.Environment
	// details is for connectionDetails, where runs have their connection details.
	details *expression.Environment
	// typed are environments like item, for items of a known type, by the type.
	typed map[string]*expression.Environment
	// declarations that the environments were made of.
	declarations expression.Declarations
	// locals that expressions see in all environments, and the mistakes in the locals.
	locals   *expression.Locals
	mistakes field.ErrorList
}

func environments(in map[string]any, resources map[string]v1alpha1.RequiredResource, runs []input.Run,
	d expression.Declarations,
) (scopes, error) {
	run, err := runSchema()
	if err != nil {
		return scopes{}, errors.Wrap(err, "cannot read the schema of AnsibleRuns")
	}

	required := requiredNames(resources)
	maps.Copy(required, d.Required)
	d.Runs, d.Required, d.Run = namesOf(runs), required, run

	locals, _ := in["locals"].(map[string]any)
	d.Locals = expression.NewLocals(locals)

	xr, err := expression.NewEnvironment(d)
	if err != nil {
		return scopes{}, err
	}

	mistakes := compileLocals(xr, locals)

	d.Each = true

	item, err := expression.NewEnvironment(d)
	if err != nil {
		return scopes{}, err
	}

	d.Each, d.Details = false, true
	details, err := expression.NewEnvironment(d)

	return scopes{
		xr: xr, item: item, details: details, typed: map[string]*expression.Environment{}, declarations: d, locals: d.Locals,
		mistakes: mistakes,
	}, err
}

// namesOf the runs: true for those that are made by forEach.
func namesOf(runs []input.Run) map[string]bool {
	names := make(map[string]bool, len(runs))
	for i := range runs {
		names[runs[i].Name] = runs[i].IsSet()
	}

	return names
}

// compileLocals returns the mistakes in the locals. Locals do not see items.
func compileLocals(env *expression.Environment, locals map[string]any) field.ErrorList {
	at := field.NewPath("locals")
	errs := env.CompileLocals(at)

	for _, name := range manifest.SortedKeys(locals) {
		if err := expression.LocalName(name); err != nil {
			errs = append(errs, field.Invalid(at.Child(name), name, err.Error()))
		}
	}

	return errs
}

// of returns the environment of a run, or of the defaults.
func (s scopes) of(object map[string]any) *expression.Environment {
	items, ok := object["forEach"]
	if !ok {
		return s.xr
	}

	t, _ := s.xr.Compile(field.NewPath("forEach"), items)

	item := t.Item()
	if item == nil {
		return s.item
	}

	if s.typed[item.Type] == nil {
		d := s.declarations
		d.Each, d.Details, d.Item = true, false, item

		env, err := expression.NewEnvironment(d)
		if err != nil {
			return s.item
		}

		s.typed[item.Type] = env
	}

	return s.typed[item.Type]
}

// runs returns the names of the runs that expressions refer to.
func (s scopes) runs() map[string]bool {
	runs := map[string]bool{}

	for _, env := range slices.AppendSeq([]*expression.Environment{s.xr, s.item, s.details}, maps.Values(s.typed)) {
		maps.Copy(runs, env.Runs())
	}

	return runs
}

// runSchema returns the OpenAPI v3 schema of an AnsibleRun, as it is shipped.
var runSchema = sync.OnceValues(func() (map[string]any, error) { //nolint:gochecknoglobals // It is a constant that has to be read.
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(crds.AnsibleRuns, crd); err != nil {
		return nil, err
	}

	return runtime.DefaultUnstructuredConverter.ToUnstructured(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
})

// mistyped reports a computed value that can never be of one of these types. The schema of
// the input checks literal values.
func mistyped(path *field.Path, t *expression.Template, types ...expression.Type) field.ErrorList {
	if !t.Computed() || t.Is(types...) {
		return nil
	}

	names := make([]string, len(types))
	for i := range types {
		names[i] = string(types[i])
	}

	message := "must be of type " + strings.Join(names, " or ") + ", and is of type " + string(t.Type())
	if len(types) == 1 && types[0] == expression.String && t.Type() != expression.Object && t.Type() != expression.Array {
		message += "; write string(…) around it"
	}

	return field.ErrorList{field.Invalid(path, t.String(), message)}
}
