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

// A run is a run that is being compiled.
type run struct {
	*plan.Run

	from input.Run
	// sets are the sets that this run depends on as a whole, and not key by key.
	sets map[string]bool
}

// run compiles a run.
func (c compiler) run(from input.Run, envs scopes, namespaced bool) run {
	c.env, c.at = envs.of(from), from.Path
	object := c.object(from, namespaced)

	r := run{from: from, sets: map[string]bool{}, Run: &plan.Run{
		Name:      from.Name,
		Path:      from.Path,
		Object:    object,
		ForEach:   c.each(from, envs.xr),
		Variables: c.variables(from),
		AtMost:    c.atMost(from),
		AtATime:   c.atATime(from),
		Needs:     map[string]bool{},
		SameKey:   map[string]bool{},
		Usages:    ptr.Deref(from.Usages, true),
		Prune:     ptr.Deref(from.Prune, true),
	}}

	when, ok := from.Object["when"]
	if !ok {
		when = true
	}

	r.When = c.boolean("when", when)
	r.need(r.When)

	if v, ok := from.Object["readyWhen"]; ok {
		r.ReadyWhen = c.boolean("readyWhen", v)

		// readyWhen may refer to the run itself, which is no dependency. Other runs become dependencies, but not
		// required ones.
		for name := range r.ReadyWhen.Runs() {
			if needed := r.Needs[name]; name != r.Name {
				r.Needs[name] = needed
			}
		}
	}

	if names, ok := from.Object["previousNames"]; ok {
		r.PreviousNames = c.compile(field.NewPath("previousNames"), names)
		r.need(r.PreviousNames)

		list, ok := names.([]any)
		r.New = ok && len(list) == 0
	}

	_, errs := calendar.New(from.Schedule, from.Window)
	for _, err := range errs {
		err.Field = from.Path.Child(err.Field).String()
		c.add(err)
	}

	r.Templates = slices.Concat(r.Variables.Templates(), object.Templates())
	r.need(r.ForEach.Templates()...)
	r.need(r.Templates...)
	c.dependsOn(r, envs.declarations.Runs)

	return r
}

// need adds templates to Uses, and the runs that they refer to as dependencies.
func (r run) need(templates ...*expression.Template) {
	r.Uses = append(r.Uses, templates...)

	for _, t := range templates {
		for name, needed := range t.Runs() {
			r.Needs[name] = r.Needs[name] || needed
		}

		maps.Copy(r.sets, t.Sets)
	}
}

// dependsOn adds the runs of dependsOn as dependencies. It reports names that are not among all runs, and duplicates.
func (c compiler) dependsOn(r run, all map[string]bool) {
	seen := map[string]bool{}

	for i, name := range r.from.DependsOn {
		path := r.Path.Child("dependsOn").Index(i)

		if _, ok := all[name]; !ok {
			c.add(field.Invalid(path, name, "there is no such run"+spelling.Hint(name, manifest.SortedKeys(all))))
			continue
		}

		if seen[name] {
			c.add(field.Duplicate(path, name))
		}

		seen[name] = true
		needed := r.Needs[name]
		r.Needs[name], r.sets[name] = needed, true
	}
}
