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

// placeholder stands for each computed name, value of the environment, version, playbook, path and inventory. A rule of
// the schemas that depends on one judges the placeholder; a test lists these rules, and what checks the value instead.
const placeholder = "computed.computed.computed"

// shippedSchemas of AnsibleRuns, by apiVersion. They take longer to compile than most
// Compositions.
var shippedSchemas = map[string]func() (*schema.Schema, error){ //nolint:gochecknoglobals // They are constants that have to be compiled.
	ansiblerun.APIVersionNamespaced: sync.OnceValues(
		func() (*schema.Schema, error) { return schema.New(crds.AnsibleRuns) }),
	ansiblerun.APIVersionCluster: sync.OnceValues(
		func() (*schema.Schema, error) { return schema.New(crds.ClusterAnsibleRuns) }),
}

// refused returns what the API server would refuse of a run's AnsibleRun, and what the
// provider could never run, whatever the XR is. Package input leaves out those that follow
// from another mistake.
func refused(r *plan.Run, from input.Run) field.ErrorList {
	s, err := shippedSchemas[r.APIVersion()]()
	if err != nil {
		return field.ErrorList{field.InternalError(r.Path, errors.Wrap(err, "cannot use the schema of AnsibleRuns"))}
	}

	// Of variables nothing is known.
	object := r.Object.Unevaluated(func(*expression.Template) string { return placeholder })
	spec, _ := object["spec"].(map[string]any)
	errs := append(s.Validate(object), nameMistakes(field.NewPath("spec"), spec)...)

	var typed struct {
		ForProvider common.AnsibleRunParameters `json:"forProvider"`
	}

	input.Decode(spec, &typed)

	// What the provider cannot read.
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

		// The input has the field for cluster-scoped runs.
		if err.Type == field.ErrorTypeForbidden && strings.HasSuffix(err.Field, "Ref.namespace") {
			err.Detail = "a namespaced run refers to what is in its own namespace; leave the field out"
		}
	}

	return errs
}

// inputPath returns the path in the input of the field at a path of an AnsibleRun.
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

// asWritten is the path in a run of the input of what is at a path of the parameters of an AnsibleRun.
func asWritten(path string) string {
	if strings.HasPrefix(path, fields.Inventories+"[") {
		return strings.Replace(path, ".secretRef", ".secretKeyRef", 1)
	}

	return path
}

// roleMistake is an error of ParseRoles, which begins with a path.
func roleMistake(err error) *field.Error {
	path, message, ok := strings.Cut(err.Error(), ": ")
	if !ok {
		path, message, _ = strings.Cut(err.Error(), " ")
	}

	return field.Forbidden(field.NewPath(path), message)
}
