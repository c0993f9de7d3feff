package compile

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// withoutXR reports and removes the fields of an input that need an XR, which Operations do not have.
func withoutXR(in map[string]any) field.ErrorList {
	var errs field.ErrorList

	for _, name := range []string{"status", "conditions", "operatorConditions", "connectionDetails"} {
		if _, ok := in[name]; ok {
			errs = append(errs, field.Forbidden(field.NewPath(name), "there is no XR in an Operation"))
		}

		delete(in, name)
	}

	if required, _ := in["requiredResources"].(map[string]any); required[plan.Watched] != nil {
		errs = append(errs,
			field.Forbidden(field.NewPath("requiredResources", plan.Watched),
				"this is what a WatchOperation watches; give it another name"))
	}

	return errs
}

// inoperable reports the fields of a run that an Operation cannot have: it has no observed state to wait for.
func (c compiler) inoperable(r input.Run) {
	if r.DependsOn != nil {
		c.add(field.Forbidden(r.Path.Child("dependsOn"),
			"nothing is waited for in an Operation; make one run of them, with roles or playbooks"))
	}

	if r.AtATime != nil {
		c.add(field.Forbidden(r.Path.Child("atATime"),
			"nothing is waited for in an Operation; make one run of all hosts, with serial in its play"))
	}
}
