package compile

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/fields"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
	"github.com/crossplane-ansible/crossplane-ansible/function/schema"
	"github.com/crossplane-ansible/crossplane-ansible/package-provider/crds"
)

// placeholder replaces each required computed value: names, values of environment variables, content and inventories.
// Rules of the schemas validate the placeholder instead. A test lists the rules that depend on such a value, and the
// code that checks the value.
const placeholder = "computed.computed.computed"

// shippedSchemas has functions that return the schemas of AnsibleRuns, by apiVersion. A schema takes longer to compile
// than most Compositions, so it is compiled once.
var shippedSchemas = map[string]func() (*schema.Schema, error){ //nolint:gochecknoglobals // They are constants that have to be compiled.
	ansiblerun.APIVersionNamespaced: sync.OnceValues(
		func() (*schema.Schema, error) { return schema.New(crds.AnsibleRuns) }),
	ansiblerun.APIVersionCluster: sync.OnceValues(
		func() (*schema.Schema, error) { return schema.New(crds.ClusterAnsibleRuns) }),
}

// refused returns the errors of the AnsibleRun of a run with which the API server would refuse it, or the provider
// could not run it, for any XR. Package input leaves out errors that follow from other mistakes.
func refused(r *plan.Run, from input.Run) field.ErrorList {
	s, err := shippedSchemas[r.APIVersion()]()
	if err != nil {
		return field.ErrorList{field.InternalError(r.Path, errors.Wrap(err, "cannot use the schema of AnsibleRuns"))}
	}

	// The object has no variables, since they have no schema.
	object := r.Object.Unevaluated(func(*expression.Template) string { return placeholder })
	spec, _ := object["spec"].(map[string]any)
	errs := append(s.Validate(object), nameMistakes(field.NewPath("spec"), spec)...)

	var typed struct {
		ForProvider common.AnsibleRunParameters `json:"forProvider"`
	}

	input.Decode(spec, &typed)

	// The provider parses roles, too.
	if _, err := typed.ForProvider.ParseRoles(); err != nil {
		errs = append(errs, roleMistake(err))
	}

	if typed.ForProvider.OnDelete != nil {
		if _, err := typed.ForProvider.OnDelete.ParseRoles(); err != nil {
			errs = append(errs, roleMistake(err))
		}
	}

	if list, ok := spec["managementPolicies"].([]any); ok {
		if err := fields.CheckPolicies(list); err != nil {
			errs = append(errs, field.Forbidden(field.NewPath("spec", "managementPolicies"), err.Error()))
		}
	}

	for _, err := range errs {
		err.Field, err.Origin = inputPath(err.Field, from), input.OriginAnsibleRun

		// The schema of the input allows the field, since cluster-scoped runs have it.
		if err.Type == field.ErrorTypeForbidden && strings.HasSuffix(err.Field, "Ref.namespace") {
			err.Detail = "a namespaced run refers to what is in its own namespace; leave the field out"
		}
	}

	return errs
}

// inputPath converts the path of a field in the AnsibleRun of a run to its path in the input.
func inputPath(path string, r input.Run) string {
	for _, of := range []string{"spec.forProvider", "spec"} {
		if rest, ok := strings.CutPrefix(path, of); ok {
			path = strings.TrimPrefix(rest, ".")
			break
		}
	}

	if path == "" {
		return r.Path.String()
	}

	return r.Path.String() + "." + asWritten(path)
}

// asWritten converts the path of a field in the parameters of an AnsibleRun to its path in a run of the input.
func asWritten(path string) string {
	if strings.HasPrefix(path, fields.Inventories+"[") {
		return strings.Replace(path, ".secretRef", ".secretKeyRef", 1)
	}

	return path
}

// roleMistake converts an error of ParseRoles, which begins with a path.
func roleMistake(err error) *field.Error {
	path, message, ok := strings.Cut(err.Error(), ": ")
	if !ok {
		path, message, _ = strings.Cut(err.Error(), " ")
	}

	return field.Forbidden(field.NewPath(path), message)
}
