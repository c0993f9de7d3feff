// Package compile makes a Plan of an input: all that does not depend on an XR is done
// here, once for each input. The errors are the mistakes of the Composition, by their
// places in the input.
//
// The parts of a Plan evaluate themselves for the data of an XR. They know nothing of
// what is observed.
package compile

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/spelling"
)

// Composition compiles an input as read by package input, for XRs that are namespaced or
// cluster-scoped. The errors are all mistakes that can be found without an XR. It
// copes with inputs that violate the schema, but does not report what the schema
// does.
func Composition(in map[string]any, namespaced bool, known Schemas) (*Plan, field.ErrorList) {
	return compileInput(in, namespaced, expression.Declarations{Schema: known.XR, Resources: known.Resources})
}

// compileInput compiles an input whose expressions see these declarations and what the
// input declares.
func compileInput(in map[string]any, namespaced bool, d expression.Declarations) (*Plan, field.ErrorList) {
	templates, errs := merge(in)

	// The runs are decoded with the defaults.
	typed := v1alpha1.AnsibleRuns{}
	decode(manifest.Pick(in, "requiredResources", "conditions", "connectionDetails", "connectionSecret"), &typed)

	envs, err := environments(in, typed.RequiredResources, templates, d)
	if err != nil {
		return nil, append(errs, field.InternalError(nil, err))
	}

	errs = append(errs, envs.mistakes...)
	errs = append(errs, expressions(envs, in)...)
	c := &Plan{Locals: envs.locals, ByResource: map[string]*Run{}}

	status, serrs := compileStatus(envs.xr, in)
	errs = append(errs, serrs...)
	c.Status = status

	c.Schemas = statusSchemasOf(c.Status, d.Schema.OpenAPI())

	conditions, cerrs := compileConditions(envs.xr, typed.Conditions)
	errs = append(errs, cerrs...)
	c.Conditions = conditions

	details, derrs := compileConnection(envs.details, typed, namespaced)
	errs = append(errs, derrs...)
	c.Connection = details

	for _, t := range templates {
		if len(details.Names) > 0 && t.resource() == ResourceConnection {
			errs = append(errs, field.Invalid(t.path.Child("resourceName"), ResourceConnection, "this is the name of the Secret with the connectionDetails"))
		}
	}

	required, rerrs := compileRequired(envs.xr, typed.RequiredResources, namespaced)
	errs = append(errs, rerrs...)
	c.Required = required

	for _, t := range templates {
		r, rerrs := compileRun(envs.of(t.object), t, namespaced, names(templates))
		errs = append(errs, rerrs...)
		c.Runs = append(c.Runs, r)
		c.ByResource[r.Resource] = r

		// What is wrong with a run would be said twice.
		if len(rerrs) == 0 {
			c.refused = append(c.refused, r.refused(t, in)...)
		}
	}

	pair(c.Runs)

	errs = append(errs, c.unreferables()...)
	errs = append(errs, unusable(c.Runs, templates)...)
	errs = append(errs, previousMistakes(templates)...)
	c.previousSets = previousSets(c.Runs, templates)

	c.Referenced = envs.runs()

	ordered, oerrs := order(c.Runs)
	c.Runs = ordered
	c.ReadsResources = slices.ContainsFunc(c.templates(), func(t *expression.Template) bool { return len(t.ResourceNames()) > 0 })

	return c, append(errs, oerrs...)
}

// expressions returns the mistakes of all expressions, where they were written.
func expressions(envs scopes, in map[string]any) field.ErrorList {
	var errs field.ErrorList

	compile := func(env *expression.Environment, at *field.Path, object map[string]any) {
		for _, name := range slices.Concat(computed[:], manifest.SortedKeys(settings)) {
			v, ok := object[name]
			if !ok {
				continue
			}

			// Items do not see themselves.
			e := env
			if name == "forEach" {
				e = envs.xr
			}

			_, cerrs := e.Compile(at.Child(name), v)
			errs = append(errs, cerrs...)
		}

		for _, r := range references(at, object) {
			_, rerrs := env.Compile(r.path, r.name)
			errs = append(errs, rerrs...)
		}
	}

	// Whether there is an item follows from the runs that they lie under.
	if defaults, ok := in["defaults"].(map[string]any); ok {
		compile(envs.item, field.NewPath("defaults"), defaults)
	}

	defaults, _ := in["defaults"].(map[string]any)
	runs, _ := in["runs"].([]any)

	for i := range runs {
		r, _ := runs[i].(map[string]any)
		compile(envs.of(manifest.Overlay(manifest.Pick(defaults, "forEach"), r)), field.NewPath("runs").Index(i), r)
	}

	return errs
}

// computed are the fields of runs that may hold expressions anywhere, beside the
// settings.
var computed = [...]string{ //nolint:gochecknoglobals // Go has no constant arrays.
	"when", "readyWhen", "forEach", "forEachKey", "previousNames", "vars", "varsFrom", "inventory", "labels", "annotations",
}

// compileRun compiles a run, which may depend on all that are named.
func compileRun(env *expression.Environment, t template, namespaced bool, all map[string]bool) (*Run, field.ErrorList) {
	object, errs := objectOf(env, t, namespaced)

	r := &Run{
		Name:     t.Name,
		path:     t.path,
		always:   t.When == nil,
		Resource: t.resource(),
		Object:   object,
		Needs:    map[string]bool{},
		sets:     map[string]bool{},
		SameKey:  map[string]bool{},
		Usages:   ptr.Deref(t.Usages, true),
		Prune:    ptr.Deref(t.Prune, true),
	}

	r.When, _ = env.Compile(field.NewPath("when"), true)

	if v, ok := t.object["when"]; ok {
		r.When, _ = env.Compile(field.NewPath("when"), v)
		if !r.When.Is(expression.Boolean) || v == nil {
			errs = append(errs, field.Invalid(t.path.Child("when"), v, "must be true, false, or an expression that is one of them"))
		}

		r.need(r.When)
	}

	if v, ok := t.object["readyWhen"]; ok {
		r.ReadyWhen, _ = env.Compile(field.NewPath("readyWhen"), v)
		if !r.ReadyWhen.Is(expression.Boolean) || v == nil {
			errs = append(errs, field.Invalid(t.path.Child("readyWhen"), v, "must be true, false, or an expression that is one of them"))
		}

		// It looks at what came of the run itself.
		for name := range r.ReadyWhen.Runs() {
			if needed := r.Needs[name]; name != r.Name {
				r.Needs[name] = needed
			}
		}
	}

	each, eerrs := compileEach(env, t)
	errs = append(errs, eerrs...)
	r.ForEach = each

	if names, ok := t.object["previousNames"]; ok {
		r.PreviousNames, _ = env.Compile(field.NewPath("previousNames"), names)
		r.need(r.PreviousNames)
	}

	atMost, merrs := atMostOf(t)
	errs = append(errs, merrs...)
	r.AtMost = atMost

	r.need(each.Templates()...)

	variables, verrs := compileVariables(env, t)
	errs = append(errs, verrs...)
	r.Variables = variables

	inventory, templates, ierrs := compileInventory(env, t)
	errs = append(errs, ierrs...)
	r.Inventory = inventory
	r.Templates = slices.Concat(variables.templates(), templates, object.templates())
	r.need(r.Templates...)

	return r, append(errs, r.dependsOn(t, all)...)
}

// dependsOn adds the runs that the run depends on without referring to them.
func (r *Run) dependsOn(t template, all map[string]bool) field.ErrorList {
	var errs field.ErrorList

	seen := map[string]bool{}

	for i, name := range t.DependsOn {
		path := t.path.Child("dependsOn").Index(i)

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

// need what templates refer to.
func (r *Run) need(templates ...*expression.Template) {
	r.Uses = append(r.Uses, templates...)

	for _, t := range templates {
		for name, needed := range t.Runs() {
			r.Needs[name] = r.Needs[name] || needed
		}

		maps.Copy(r.sets, t.Sets())
	}
}
