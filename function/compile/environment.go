package compile

import (
	"fmt"
	"maps"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/package-provider/crds"
)

// scopes are the environments for the expressions of an input. The field with an expression decides which one compiles
// it.
type scopes struct {
	// xr is for expressions without each.
	xr *expression.Environment
	// details is for connectionDetails, in which runs have connection details.
	details *expression.Environment
	// items are for expressions with each, by the schema of the items; "" if that is unknown.
	items map[string]*expression.Environment
	// declarations are the declarations of the environments.
	declarations expression.Declarations
}

// environments returns the environments for an input with these runs. The errors are mistakes in the locals.
func environments(in map[string]any, resources map[string]v1alpha1.RequiredResource, runs []input.Run,
	d expression.Declarations,
) (scopes, field.ErrorList) {
	required := requiredNames(resources)
	maps.Copy(required, d.Required)
	d.Runs, d.Required, d.Run = map[string]bool{}, required, runSchema()

	for _, r := range runs {
		d.Runs[r.Name] = r.IsSet()
	}

	locals, _ := in["locals"].(map[string]any)
	d.Locals = expression.NewLocals(locals)

	xr := expression.NewEnvironment(d)
	mistakes := xr.CompileLocals(field.NewPath("locals"))
	s := scopes{xr: xr, items: map[string]*expression.Environment{}, declarations: d}
	d.Details = true
	s.details = expression.NewEnvironment(d)

	return s, mistakes
}

// of returns the environment for the expressions of a run.
func (s scopes) of(run input.Run) *expression.Environment {
	items, ok := run.Object["forEach"]
	if !ok {
		return s.xr
	}

	t, _ := s.xr.Compile(field.NewPath("forEach"), items)

	of, item := "", t.Item()
	if item != nil {
		of = fmt.Sprint(item)
	}

	if s.items[of] == nil {
		d := s.declarations
		d.Each, d.Item = true, item
		s.items[of] = expression.NewEnvironment(d)
	}

	return s.items[of]
}

// runSchema returns the OpenAPI v3 schema of an AnsibleRun.
var runSchema = sync.OnceValue(func() map[string]any { //nolint:gochecknoglobals // It is a constant that has to be read.
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(crds.AnsibleRuns, crd); err != nil {
		panic(err)
	}

	schema, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	if err != nil {
		panic(err)
	}

	return schema
})
