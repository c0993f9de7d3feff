package compile

import (
	"maps"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// Operation compiles an input for Operations, as Composition does for XRs. There
// is no XR in them, nothing is observed of runs, and so nothing can be waited for.
func Operation(in map[string]any) (*plan.Plan, field.ErrorList) {
	var errs field.ErrorList

	in = maps.Clone(in)

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

	p, cerrs := Composition(in, false,
		expression.Declarations{Operation: true, Required: map[string]bool{plan.Watched: false}})

	return p, append(errs, cerrs...)
}

// inoperable reports what a run of an Operation cannot have.
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
