package compile

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// maxResourceName is the length of the longest name of a resource that expressions can refer
// to, in bytes. The message of each run that waits for the resource has the name.
const maxResourceName = 253

// Unreferable returns why expressions cannot refer to a composed resource of this name;
// nil when they can.
func (c *Plan) Unreferable(name string) error {
	switch on := c.RunOf(name); {
	case on != nil:
		return errors.Errorf("is a run of this input; write runs.%s", on.Name)
	case name == ResourceConnection && len(c.Connection.Names) > 0:
		return errors.New("is the Secret with the connectionDetails of this input")
	case name == "" || len(name) > maxResourceName || strings.ContainsAny(name, ", "):
		return errors.Errorf("cannot be referred to: the name must have 1 to %d bytes, and neither commas nor spaces", maxResourceName)
	}

	return nil
}

// unreferables reports expressions with literal names that Unreferable refuses.
func (c *Plan) unreferables() field.ErrorList {
	var errs field.ErrorList

	check := func(path *field.Path, names map[string]bool) {
		for _, name := range manifest.SortedKeys(names) {
			if err := c.Unreferable(name); names[name] && err != nil {
				errs = append(errs, field.Invalid(path, "resources."+name, err.Error()))
			}
		}
	}

	for _, run := range c.Runs {
		check(run.path, run.Resources())

		if run.ReadyWhen != nil {
			check(run.path, run.ReadyWhen.ResourceNames())
		}
	}

	for _, t := range c.reported() {
		check(field.NewPath(t.Path()), t.ResourceNames())
	}

	return errs
}

// ResourcesOf returns the resources of other steps that templates refer to, by
// composition resource name: true for those that they need.
func (c *Plan) ResourcesOf(ctx context.Context, data expression.Data, templates ...*expression.Template) (map[string]bool, []expression.Problem) {
	if !c.ReadsResources {
		return nil, nil
	}

	all := map[string]bool{}

	var problems []expression.Problem

	for _, t := range templates {
		names, ps := t.Resources(ctx, data)
		problems = append(problems, ps...)

		for _, name := range manifest.SortedKeys(names) {
			if err := c.Unreferable(name); err != nil {
				problems = append(problems, Invalid(t.Path(), errors.Wrapf(err, "resources[%.80q]", name)))
				continue
			}

			all[name] = all[name] || names[name]
		}
	}

	return all, problems
}
