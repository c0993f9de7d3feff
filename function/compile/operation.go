package compile

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
)

// Operation compiles an input for Operations, as Composition does for XRs. There
// is no XR in them, nothing is observed of runs, and so nothing can be waited for.
func Operation(in map[string]any) (*Plan, field.ErrorList) {
	var errs field.ErrorList

	in = maps.Clone(in)

	for _, name := range []string{"status", "conditions", "connectionDetails"} {
		if _, ok := in[name]; ok {
			errs = append(errs, field.Forbidden(field.NewPath(name), "there is no XR in an Operation"))
		}

		delete(in, name)
	}

	if required, _ := in["requiredResources"].(map[string]any); required[Watched] != nil {
		errs = append(errs, field.Forbidden(field.NewPath("requiredResources", Watched), "this is what a WatchOperation watches; give it another name"))
	}

	c, cerrs := compileInput(in, false, expression.Declarations{Operation: true, Required: map[string]bool{Watched: false}})
	errs = append(errs, cerrs...)

	templates, _ := merge(in)
	for _, t := range templates {
		errs = append(errs, inoperable(t)...)
	}

	return c, errs
}

// inoperable reports what a run of an Operation cannot have.
func inoperable(t template) field.ErrorList {
	var errs field.ErrorList

	if t.DependsOn != nil {
		errs = append(errs, field.Forbidden(t.path.Child("dependsOn"), "nothing is waited for in an Operation; make one run of them, with roles or playbooks"))
	}

	name := ObjectName(t.resource())
	if isSet(t.object) {
		name = ObjectName(MemberName(t.resource(), "key"))
	}

	if t.resource() != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		errs = append(errs, field.Invalid(t.path, t.resource(), "an AnsibleRun cannot be called "+name+"; set resourceName"))
	}

	return errs
}

// ObjectName returns the name of an AnsibleRun of an Operation, by its composition resource
// name. The name of one of a set holds its key.
func ObjectName(resource string) string {
	return strings.NewReplacer("[", "-", "]", "").Replace(resource)
}
