package compile

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// Lint returns the mistakes of a Composition that stop no XR, and that show nowhere else:
// status fields that XRs cannot have, or that can never have such a value, required
// resources that nothing refers to, and names that variables cannot have.
func (c *Plan) Lint() field.ErrorList {
	var errs field.ErrorList

	if c.Status != nil && c.Status.Is(expression.Object) && len(c.Schemas) > 0 {
		errs = c.Schemas.mistakes(field.NewPath("status"), c.Status)
	}

	used := c.used()
	for _, r := range c.Required {
		if !used[r.Name] {
			errs = append(errs, field.Forbidden(field.NewPath("requiredResources").Child(r.Name), "no expression refers to required."+r.Name))
		}
	}

	for _, run := range c.Runs {
		errs = append(errs, run.unnamed...)
	}

	return errs
}

// Warnings are about valid inputs that may not be what is meant: a run that refers to
// another one with a when is held while the other one is not wanted.
func (c *Plan) Warnings() field.ErrorList {
	var warnings field.ErrorList

	byName := map[string]*Run{}
	for _, run := range c.Runs {
		byName[run.Name] = run
	}

	for _, run := range c.Runs {
		for _, name := range manifest.SortedKeys(run.Needs) {
			on := byName[name]

			// A set whose when refers to the item is there also when no member is wanted.
			if !run.Needs[name] || on.always || on.WhenPerItem() || run.When.String() == on.When.String() {
				continue
			}

			warnings = append(warnings, field.Invalid(run.path, run.Name, "refers to "+name+", which has a when: once "+name+" is not wanted, this run is not created, or stays as it is;"+
				" write runs.?"+name+" with .?… and orValue(…) if it can do without, or give it the same when"))
		}
	}

	return warnings
}

// used returns the names of the required resources that expressions refer to.
func (c *Plan) used() map[string]bool {
	used := map[string]bool{}

	for _, t := range c.templates() {
		for name := range t.Required() {
			used[name] = true
		}
	}

	return used
}

// templates returns all templates of the plan.
func (c *Plan) templates() []*expression.Template {
	all := c.reported()

	for _, run := range c.Runs {
		all = append(all, run.When)
		all = append(all, run.Uses...)

		if run.ReadyWhen != nil {
			all = append(all, run.ReadyWhen)
		}
	}

	return all
}

// reported returns the templates outside of runs.
func (c *Plan) reported() []*expression.Template {
	all := slices.Clone(c.Connection.Values)

	for _, r := range c.Required {
		all = append(all, r.Template())
	}

	if c.Status != nil {
		all = append(all, c.Status)
	}

	for _, condition := range c.Conditions {
		all = append(all, condition.Status, condition.Reason, condition.Message)
	}

	return all
}
