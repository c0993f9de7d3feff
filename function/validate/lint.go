package validate

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansible"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
	"github.com/crossplane-ansible/crossplane-ansible/function/schema"
)

// lint returns mistakes that compilation does not find: status fields that the XRD does not declare or with values that
// never fit, unused required resources, and fields of varsFrom that cannot be variables.
func (u use) lint(p *plan.Plan) field.ErrorList {
	var errs field.ErrorList

	if p.Status != nil && p.Status.Is(expression.Object) {
		errs = undeclared(nil, u.openAPI, "status", p.Status)
	}

	used := map[string]bool{}
	for _, t := range p.Templates() {
		maps.Copy(used, t.Required())
	}

	for _, r := range p.Required {
		if _, ok := used[r.Name]; !ok {
			errs = append(errs,
				field.Forbidden(field.NewPath("requiredResources").Child(r.Name), "no expression refers to required."+r.Name))
		}
	}

	for _, run := range p.Runs {
		for i, s := range run.Variables.From {
			errs = append(errs, unnamed(run.Path.Child("varsFrom").Index(i), s)...)
		}
	}

	return errs
}

// warningsOf returns warnings about runs that need another run with a when: such a run is held while the other one is
// not wanted.
func warningsOf(p *plan.Plan) field.ErrorList {
	var warnings field.ErrorList

	byName := map[string]*plan.Run{}
	for _, run := range p.Runs {
		byName[run.Name] = run
	}

	for _, run := range p.Runs {
		for _, name := range manifest.SortedKeys(run.Needs) {
			on := byName[name]

			// A set with a when for each item exists even if no member is wanted.
			if !run.Needs[name] || !on.When.MayBe(false) || on.WhenPerItem() || run.When.String() == on.When.String() {
				continue
			}

			warnings = append(warnings,
				field.Invalid(run.Path, run.Name,
					"refers to "+name+", which has a when: once "+name+" is not wanted, this run is not created, or stays as it is;"+
						" write runs.?"+name+" with .?… and orValue(…) if it can do without, or give it the same when"))
		}
	}

	return warnings
}

// unnamed returns errors for known fields of an entry of varsFrom that cannot be variables.
func unnamed(path *field.Path, s plan.VarsSource) field.ErrorList {
	var errs field.ErrorList

	for _, name := range s.Value.Known() {
		variable, ok := s.Variable(name)
		if !ok {
			continue
		}

		if err := ansible.CheckVariable(variable); err != nil {
			errs = append(errs, field.Forbidden(path, err.Error()+"; exclude it"))
		}
	}

	return errs
}

// undeclared returns an error for a field that the schema of its object in the XRD does not declare, and otherwise the
// errors of its value.
func undeclared(above *field.Path, of map[string]any, name string, t *expression.Template) field.ErrorList {
	below, known := schema.Property(of, name)
	if !known {
		return field.ErrorList{
			field.Forbidden(above.Child(name), "the XRD does not declare this field"+schema.Hint(of, name)),
		}
	}

	return misfits(above.Child(name), below, t)
}

// misfits returns errors for a value, and values below it, that can never fit their schema in the XRD.
func misfits(path *field.Path, of map[string]any, t *expression.Template) field.ErrorList {
	var errs field.ErrorList

	items, _ := of["items"].(map[string]any)
	want, wantItems := expression.Type(manifest.Text(of, "type")), expression.Type(manifest.Text(items, "type"))

	switch {
	case t.Fields == nil && !t.Computed:
		v, _, _ := t.Evaluate(context.Background(), expression.Data{})
		if _, err := schema.NewConverter(of).Convert(v); err != nil {
			p := expression.InvalidAt(path.String(), err)
			errs = append(errs, field.Invalid(field.NewPath(p.Path), v, p.Message))
		}

		return errs
	case !coercible(t.Type(), want):
		return append(errs, field.Invalid(path, t.String(),
			"must be of type "+string(want)+", as the XRD says, and is of type "+string(t.Type())))
	case t.Items == nil && !coercible(t.ItemType(), wantItems):
		errs = append(errs, field.Invalid(path, t.String(),
			"its items must be of type "+string(wantItems)+", as the XRD says, and are of type "+string(t.ItemType())))
	}

	for i, item := range t.Items {
		errs = append(errs, misfits(path.Index(i), items, item)...)
	}

	for _, name := range manifest.SortedKeys(t.Fields) {
		errs = append(errs, undeclared(path, of, name, t.Fields[name])...)
	}

	return errs
}

// coercible is true when some values of a type can be converted to the wanted type, or when one of the types is
// unknown.
func coercible(is, want expression.Type) bool {
	from := map[expression.Type][]expression.Type{
		expression.Boolean: {expression.String},
		expression.Integer: {expression.String, expression.Number},
		expression.Number:  {expression.String, expression.Integer},
		expression.String:  {expression.Boolean, expression.Integer, expression.Number},
	}[want]

	return is == "" || want == "" || is == want || slices.Contains(from, is)
}
