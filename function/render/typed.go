package render

import (
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/package-provider/crds"
)

// runSchema returns the OpenAPI v3 schema of an AnsibleRun, as it is shipped.
var runSchema = sync.OnceValues(func() (map[string]any, error) { //nolint:gochecknoglobals // It is a constant that has to be read.
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(crds.AnsibleRuns, crd); err != nil {
		return nil, err
	}

	return runtime.DefaultUnstructuredConverter.ToUnstructured(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
})

// mistyped reports a computed value that can never be of one of these types. What
// is literal the schema of the input tells of.
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
