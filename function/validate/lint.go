package validate

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansible"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
	"github.com/crossplane-ansible/crossplane-ansible/function/schema"
)

// lint returns the mistakes of a Composition that stop no XR, and that show nowhere else:
// status fields that XRs cannot have, or that can never have such a value, required
// resources that nothing refers to, and names that variables cannot have.
func lint(p *plan.Plan) field.ErrorList {
	var errs field.ErrorList

	if p.Status != nil && p.Status.Is(expression.Object) && len(p.Schemas) > 0 {
		errs = statusMistakes(p.Schemas, field.NewPath("status"), p.Status)
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

// warningsOf a plan are about valid inputs that may not be what is meant: a run that refers to
// another one with a when is held while the other one is not wanted.
func warningsOf(p *plan.Plan) field.ErrorList {
	var warnings field.ErrorList

	byName := map[string]*plan.Run{}
	for _, run := range p.Runs {
		byName[run.Name] = run
	}

	for _, run := range p.Runs {
		for _, name := range manifest.SortedKeys(run.Needs) {
			on := byName[name]

			// A set with a when that refers to the item is there also when no member is wanted.
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

// unnamed reports fields that an object can have, and that cannot be variables.
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

// statusMistakes reports the fields that the XRD does not declare, and values that can never fit
// the XRD.
func statusMistakes(all plan.StatusSchemas, path *field.Path, t *expression.Template) field.ErrorList {
	var errs field.ErrorList

	f, ok := all[t]

	switch {
	case !ok || f.Required != nil:
		for _, name := range manifest.SortedKeys(t.Fields()) {
			errs = append(errs, statusMistakes(all, path.Child(name), t.Fields()[name])...)
		}
	case f.Unknown:
		errs = append(errs, field.Forbidden(path, "the XRD does not declare this field"+f.Hint))
	case t.Computed():
		errs = typeMistakes(path, f.Schema, t)
	default:
		// A literal value needs no data.
		v, _, _ := t.Evaluate(context.Background(), expression.Data{})
		if _, err := f.Convert(v); err != nil {
			errs = append(errs, field.Invalid(path, v, err.Error()))
		}
	}

	return errs
}

// typeMistakes reports a computed value, and fields and items in it, with a type that is known and can never fit the
// schema.
func typeMistakes(path *field.Path, of map[string]any, t *expression.Template) field.ErrorList {
	want := expression.Type(manifest.Text(of, "type"))
	if !coercible(t.Type(), want) {
		return field.ErrorList{
			field.Invalid(path, t.String(),
				"must be of type "+string(want)+", as the XRD says, and is of type "+string(t.Type())),
		}
	}

	var errs field.ErrorList

	items, _ := of["items"].(map[string]any)
	if want := expression.Type(manifest.Text(items, "type")); !coercible(t.ItemType(), want) && t.Items() == nil {
		errs = append(errs,
			field.Invalid(path, t.String(),
				"its items must be of type "+string(want)+", as the XRD says, and are of type "+string(t.ItemType())))
	}

	for i, item := range t.Items() {
		errs = append(errs, typeMistakes(path.Index(i), items, item)...)
	}

	for _, name := range manifest.SortedKeys(t.Fields()) {
		below, known := schema.Property(of, name)
		if !known {
			errs = append(errs, field.Forbidden(path.Child(name), "the XRD does not declare this field"+schema.Hint(of, name)))
			continue
		}

		errs = append(errs, typeMistakes(path.Child(name), below, t.Fields()[name])...)
	}

	return errs
}

// coercible is true when some values of a type can be converted to the wanted one, or when
// one of the types is not known.
func coercible(is, want expression.Type) bool {
	if is == "" || want == "" || is == want {
		return true
	}

	switch want {
	case expression.Boolean:
		return is == expression.String
	case expression.Integer, expression.Number:
		return is == expression.String || is == expression.Integer || is == expression.Number
	case expression.String:
		return is == expression.Boolean || is == expression.Integer || is == expression.Number
	}

	return false
}
