package render

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
)

// Lint returns the mistakes of a Composition that stop no XR, and that nobody
// would find out about otherwise: status fields that XRs cannot have, or that can
// never have such a value, required resources that nothing refers to, and names
// that are none of variables.
func (c *Composition) Lint() field.ErrorList {
	var errs field.ErrorList

	if c.status != nil && len(c.fits) > 0 {
		errs = c.fits.misfits(field.NewPath(fieldStatus), c.status)
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

// used required resources.
func (c *Composition) used() map[string]bool {
	used := map[string]bool{}

	see := func(templates ...*expression.Template) {
		for _, t := range templates {
			for name := range t.Required() {
				used[name] = true
			}
		}
	}

	for _, run := range c.runs {
		see(run.when)
		see(run.each.templates()...)
		see(run.templates...)
	}

	for _, r := range c.required {
		see(r.template())
	}

	if c.status != nil {
		see(c.status)
	}

	see(c.details.values...)

	return used
}
