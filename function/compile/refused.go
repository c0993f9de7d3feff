package compile

import (
	"encoding/json"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/schema"
	"github.com/crossplane-ansible/crossplane-ansible/package-provider/crds"
)

// placeholder stands for each computed name and inventory. No rule of the schemas may
// depend on either, which a test ensures.
const placeholder = "computed"

// Schemas of AnsibleRuns, as they are shipped. They take longer to compile than
// most Compositions.
var (
	schemaNamespaced = sync.OnceValues(func() (*schema.Schema, error) { return schema.New(crds.AnsibleRuns) })        //nolint:gochecknoglobals // It is a constant that has to be compiled.
	schemaCluster    = sync.OnceValues(func() (*schema.Schema, error) { return schema.New(crds.ClusterAnsibleRuns) }) //nolint:gochecknoglobals // It is a constant that has to be compiled.
)

// Refused returns what the API server would refuse of the AnsibleRuns, and what the
// provider could never run, whatever the XR is. It leaves out fields for which a mistake
// is known already.
func (c *Plan) Refused(known field.ErrorList) field.ErrorList {
	var errs field.ErrorList

	for _, err := range c.refused {
		if !isKnown(known, err.Field) {
			errs = append(errs, err)
		}
	}

	return errs
}

// isKnown is true when a mistake is known of a field, of one within it, or of one that it
// is within.
func isKnown(known field.ErrorList, path string) bool {
	for _, err := range known {
		if isBelow(path, err.Field) || isBelow(err.Field, path) {
			return true
		}
	}

	return false
}

// isBelow is true for a path that is another one, or below it.
func isBelow(path, above string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// refused returns what the API server would refuse of a run's AnsibleRun, and what the
// provider could never run. Mistakes in fields that come from the defaults of the input have
// their paths there.
func (r *Run) refused(t template, in map[string]any) field.ErrorList {
	shipped := schemaNamespaced
	if r.Object.APIVersion == ansiblerun.APIVersionCluster {
		shipped = schemaCluster
	}

	s, err := shipped()
	if err != nil {
		return field.ErrorList{field.InternalError(t.path, errors.Wrap(err, "cannot use the schema of AnsibleRuns"))}
	}

	errs := append(s.Validate(r.withPlaceholders()), roleMistakes(r.Object.parameters["roles"])...)
	errs = append(errs, nameMistakesIn(field.NewPath("spec"), r.Object.spec)...)
	errs = append(errs, nameMistakesIn(field.NewPath("spec", "forProvider"), r.Object.parameters)...)

	for _, err := range errs {
		err.Field = inputPath(err.Field, t, in)
	}

	return errs
}

// withPlaceholders returns the AnsibleRun with a value of the right type in each computed
// field. Variables may be anything.
func (r *Run) withPlaceholders() map[string]any {
	o, p := r.Object, Computed{}

	names := make(map[string]string, len(o.names))
	for name := range o.names {
		names[name] = placeholder
	}

	o.spec, _ = named(o.spec, names).(map[string]any)
	o.parameters, _ = named(o.parameters, names).(map[string]any)

	if r.Inventory != nil {
		p.Inventory = placeholder
	}

	return o.With(p)
}

// inputPath returns the path in the input of the field at a path of an AnsibleRun.
func inputPath(path string, t template, in map[string]any) string {
	for _, of := range []string{"spec.forProvider", "spec"} {
		if rest, ok := strings.CutPrefix(path, of); ok {
			path = strings.TrimPrefix(rest, ".")
			break
		}
	}

	if path == "" {
		return t.path.String()
	}

	name := path[:strings.IndexFunc(path+".", func(r rune) bool { return r == '.' || r == '[' })]
	runs, _ := in["runs"].([]any)
	defaults, _ := in["defaults"].(map[string]any)

	for i := range runs {
		own, _ := runs[i].(map[string]any)
		_, ok := own[name]
		_, below := defaults[name]

		if t.path.String() == field.NewPath("runs").Index(i).String() && !ok && below {
			return "defaults." + path
		}
	}

	return t.path.String() + "." + path
}

// roleMistakes reports roles that the provider cannot read.
func roleMistakes(roles any) field.ErrorList {
	if roles == nil {
		return nil
	}

	raw, err := json.Marshal(roles)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}

	_, err = (&common.AnsibleRunParameters{Roles: &apiextensionsv1.JSON{Raw: raw}}).ParseRoles()
	if err == nil {
		return nil
	}

	path, message, ok := strings.Cut(err.Error(), ": ")
	if !ok {
		path, message, _ = strings.Cut(err.Error(), " ")
	}

	return field.ErrorList{field.Forbidden(field.NewPath(path), message)}
}

// nameMistakesIn reports literal names in references that no object can have.
func nameMistakesIn(path *field.Path, object map[string]any) field.ErrorList {
	var errs field.ErrorList

	eachReference(path, "", object, func(r reference) {
		if !strings.Contains(r.name, "${") && len(validation.IsDNS1123Subdomain(r.name)) > 0 {
			errs = append(errs, field.Invalid(r.path, r.name, "cannot be the name of an object"))
		}
	})

	return errs
}
