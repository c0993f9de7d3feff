package compile

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/calendar"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
	"github.com/crossplane-ansible/crossplane-ansible/function/spelling"
)

// A run that is being compiled.
type run struct {
	*plan.Run

	from input.Run
	// sets are the runs of which this one depends on more than one member.
	sets map[string]bool
}

// compileRun compiles a run, which may depend on all that are named.
func compileRun(env *expression.Environment, from input.Run, namespaced bool,
	all map[string]bool,
) (run, field.ErrorList) {
	object, errs := objectOf(env, from, namespaced)

	r := run{from: from, sets: map[string]bool{}, Run: &plan.Run{
		Name:    from.Name,
		Path:    from.Path,
		Object:  object,
		Needs:   map[string]bool{},
		SameKey: map[string]bool{},
		Usages:  ptr.Deref(from.Usages, true),
		Prune:   ptr.Deref(from.Prune, true),
	}}

	r.When, _ = env.Compile(field.NewPath("when"), true)

	if v, ok := from.Object["when"]; ok {
		r.When, _ = env.Compile(field.NewPath("when"), v)
		if !r.When.Is(expression.Boolean) || v == nil {
			errs = append(errs,
				field.Invalid(r.Path.Child("when"), v, "must be true, false, or an expression that is one of them"))
		}

		r.need(r.When)
	}

	if v, ok := from.Object["readyWhen"]; ok {
		r.ReadyWhen, _ = env.Compile(field.NewPath("readyWhen"), v)
		if !r.ReadyWhen.Is(expression.Boolean) || v == nil {
			errs = append(errs,
				field.Invalid(r.Path.Child("readyWhen"), v, "must be true, false, or an expression that is one of them"))
		}

		// It looks at what came of the run itself.
		for name := range r.ReadyWhen.Runs() {
			if needed := r.Needs[name]; name != r.Name {
				r.Needs[name] = needed
			}
		}
	}

	each, eerrs := compileEach(env, from)
	errs = append(errs, eerrs...)
	r.ForEach = each

	if names, ok := from.Object["previousNames"]; ok {
		r.PreviousNames, _ = env.Compile(field.NewPath("previousNames"), names)
		r.need(r.PreviousNames)

		list, ok := names.([]any)
		r.New = ok && len(list) == 0
	}

	_, cerrs := calendar.New(from.Schedule, from.Window)
	for _, err := range cerrs {
		err.Field = r.Path.Child(err.Field).String()
		errs = append(errs, err)
	}

	atMost, merrs := atMostOf(from)
	errs = append(errs, merrs...)
	r.AtMost = atMost

	atATime, terrs := atATimeOf(from)
	errs = append(errs, terrs...)
	r.AtATime = atATime

	r.need(each.Templates()...)

	variables, verrs := compileVariables(env, from)
	errs = append(errs, verrs...)
	r.Variables = variables

	inventory, templates, ierrs := compileInventory(env, from)
	errs = append(errs, ierrs...)
	r.Inventory = inventory
	r.Templates = slices.Concat(variables.Templates(), templates, object.Templates())
	r.need(r.Templates...)

	return r, append(errs, r.dependsOn(all)...)
}

// need what templates refer to.
func (r run) need(templates ...*expression.Template) {
	r.Uses = append(r.Uses, templates...)

	for _, t := range templates {
		for name, needed := range t.Runs() {
			r.Needs[name] = r.Needs[name] || needed
		}

		maps.Copy(r.sets, t.Sets())
	}
}

// dependsOn adds the runs that the run depends on without referring to them.
func (r run) dependsOn(all map[string]bool) field.ErrorList {
	var errs field.ErrorList

	seen := map[string]bool{}

	for i, name := range r.from.DependsOn {
		path := r.Path.Child("dependsOn").Index(i)

		if _, ok := all[name]; !ok {
			errs = append(errs, field.Invalid(path, name, "there is no such run"+spelling.Hint(name, manifest.SortedKeys(all))))
			continue
		}

		if seen[name] {
			errs = append(errs, field.Duplicate(path, name))
		}

		seen[name] = true
		needed := r.Needs[name]
		r.Needs[name], r.sets[name] = needed, true
	}

	return errs
}
