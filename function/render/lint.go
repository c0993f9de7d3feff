package render

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// Lint returns the mistakes of a Composition that stop no XR, and that nobody
// would find out about otherwise: status fields that XRs cannot have, or that can
// never have such a value, required resources that nothing refers to, and names
// that are none of variables.
func (c *Plan) Lint() field.ErrorList {
	var errs field.ErrorList

	if c.status != nil && c.status.Is(expression.Object) && len(c.schemas) > 0 {
		errs = c.schemas.mistakes(field.NewPath("status"), c.status)
	}

	used := c.used()
	for _, r := range c.required {
		if !used[r.name] {
			errs = append(errs, field.Forbidden(field.NewPath("requiredResources").Child(r.name), "no expression refers to required."+r.name))
		}
	}

	for _, run := range c.runs {
		errs = append(errs, run.unnamed...)
	}

	return errs
}

// Warnings are what is right, and may not be meant: runs that refer to a run which
// is not always wanted, and that are held then.
func (c *Plan) Warnings() field.ErrorList {
	var warnings field.ErrorList

	byName := map[string]*run{}
	for _, run := range c.runs {
		byName[run.name] = run
	}

	for _, run := range c.runs {
		for _, name := range manifest.SortedKeys(run.needs) {
			on := byName[name]

			// A set whose items are asked is there without any of them.
			if !run.needs[name] || on.always || on.whenPerItem() || run.when.String() == on.when.String() {
				continue
			}

			warnings = append(warnings, field.Invalid(run.path, run.name, "refers to "+name+", which has a when: once "+name+" is not wanted, this run is not created, or stays as it is;"+
				" write runs.?"+name+" with .?… and orValue(…) if it can do without, or give it the same when"))
		}
	}

	return warnings
}

// used required resources.
func (c *Plan) used() map[string]bool {
	used := map[string]bool{}

	for _, t := range c.templates() {
		for name := range t.Required() {
			used[name] = true
		}
	}

	return used
}

// templates of everything that holds expressions.
func (c *Plan) templates() []*expression.Template {
	all := c.reported()

	for _, run := range c.runs {
		all = append(all, run.when)
		all = append(all, run.uses...)

		if run.readyWhen != nil {
			all = append(all, run.readyWhen)
		}
	}

	return all
}

// reported are the templates outside of runs.
func (c *Plan) reported() []*expression.Template {
	all := slices.Clone(c.connection.values)

	for _, r := range c.required {
		all = append(all, r.template())
	}

	if c.status != nil {
		all = append(all, c.status)
	}

	for _, condition := range c.conditions {
		all = append(all, condition.status, condition.reason, condition.message)
	}

	return all
}
