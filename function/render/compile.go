package render

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
)

// A Composition is an input, compiled for XRs of one scope. It is safe for
// concurrent use.
type Composition struct {
	// Runs, each after those that it depends on.
	runs []*run
	// Status of the XR, if there is any.
	status *expression.Template
}

// A run of the input, compiled.
type run struct {
	name string
	// resource is the composition resource name.
	resource string
	// object is the AnsibleRun without its variables.
	object object
	// when is nil for runs that are always wanted.
	when *expression.Template
	// vars is nil when there are none.
	vars *expression.Template
	// needs are the runs that this one depends on: true when it cannot be there
	// without the other one.
	needs map[string]bool
}

// Compile an input as read by package input, for XRs that are namespaced or
// cluster-scoped, and have this schema, unless it is nil. The errors are all mistakes that can be found without an XR.
// It copes with inputs that violate the schema, but does not report what the
// schema does.
func Compile(in map[string]any, namespaced bool, schema *expression.Schema) (*Composition, field.ErrorList) {
	templates, errs := merge(in)

	env, err := expression.NewEnvironment(expression.Declarations{Runs: names(templates), Schema: schema})
	if err != nil {
		return nil, append(errs, field.InternalError(nil, err))
	}

	errs = append(errs, expressions(env, in)...)
	c := &Composition{}

	if status, ok := in[fieldStatus].(map[string]any); ok {
		c.status, _ = env.Compile(field.NewPath(fieldStatus), status)
	}

	for _, t := range templates {
		r, rerrs := compileRun(env, t, namespaced)
		errs = append(errs, rerrs...)
		c.runs = append(c.runs, r)
	}

	ordered, oerrs := order(c.runs)
	c.runs = ordered

	return c, append(errs, oerrs...)
}

// expressions returns the mistakes of all expressions, where they were written.
func expressions(env *expression.Environment, in map[string]any) field.ErrorList {
	var errs field.ErrorList

	compile := func(at *field.Path, object map[string]any, name string) {
		if v, ok := object[name]; ok {
			_, cerrs := env.Compile(at.Child(name), v)
			errs = append(errs, cerrs...)
		}
	}

	defaults, _ := in["defaults"].(map[string]any)
	compile(field.NewPath("defaults"), defaults, "when")
	compile(field.NewPath("defaults"), defaults, "vars")

	runs, _ := in["runs"].([]any)
	for i := range runs {
		r, _ := runs[i].(map[string]any)
		compile(field.NewPath("runs").Index(i), r, "when")
		compile(field.NewPath("runs").Index(i), r, "vars")
	}

	if status, ok := in[fieldStatus].(map[string]any); ok {
		_, serrs := env.Compile(field.NewPath(fieldStatus), status)
		errs = append(errs, serrs...)
		errs = append(errs, reserved(status)...)
	}

	return errs
}

// reserved returns the status fields that are Crossplane's own.
func reserved(status map[string]any) field.ErrorList {
	var errs field.ErrorList

	for _, name := range []string{"claimConditionTypes", "conditions", "crossplane"} {
		if _, ok := status[name]; ok {
			errs = append(errs, field.Forbidden(field.NewPath(fieldStatus, name), "this field is Crossplane's own"))
		}
	}

	return errs
}

func compileRun(env *expression.Environment, t template, namespaced bool) (*run, field.ErrorList) {
	object, errs := objectOf(t, namespaced)

	r := &run{
		name:     text(t.object, "name"),
		resource: t.resource(),
		object:   object,
		needs:    map[string]bool{},
	}

	if v, ok := t.object["when"]; ok {
		r.when, _ = env.Compile(field.NewPath("when"), v)
		if !r.when.IsBool() {
			errs = append(errs, field.Invalid(t.path.Child("when"), v, "must be true, false, or an expression that is one of them"))
		}

		r.need(r.when)
	}

	if v, ok := t.object["vars"].(map[string]any); ok && len(v) > 0 {
		r.vars, _ = env.Compile(field.NewPath("vars"), v)
		errs = append(errs, variables(t.path.Child("vars"), r.vars)...)

		r.need(r.vars)
	}

	return r, errs
}

// variables by name.
func (r *run) variables() map[string]*expression.Template {
	if r.vars == nil {
		return nil
	}

	return r.vars.Fields()
}

// whenNeeds are the runs that decide whether this one is wanted.
func (r *run) whenNeeds() map[string]bool {
	if r.when == nil {
		return nil
	}

	return r.when.Runs()
}

func (r *run) need(t *expression.Template) {
	for name, needed := range t.Runs() {
		r.needs[name] = r.needs[name] || needed
	}
}

// variables returns what is wrong with variables beyond their expressions.
func variables(path *field.Path, vars *expression.Template) field.ErrorList {
	const meta = "ansible_provider_meta"

	var errs field.ErrorList

	for _, name := range slices.Sorted(maps.Keys(vars.Fields())) {
		v := vars.Fields()[name]

		if name == meta {
			errs = append(errs, field.Forbidden(path.Child(name), "this variable is the provider's own"))
		}

		if v.Computed() && slices.ContainsFunc(v.Text(), isJinja) {
			errs = append(errs, field.Forbidden(path.Child(name), "Jinja2 beside an expression: a variable that holds an expression is never templated by Ansible; use two variables"))
		}
	}

	return errs
}

func isJinja(s string) bool {
	return strings.Contains(s, "{{") || strings.Contains(s, "{%") || strings.Contains(s, "{#")
}
