package render

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/spelling"
)

// A Composition is an input, compiled for XRs of one scope. It is safe for
// concurrent use.
type Composition struct {
	// Runs, each after those that it depends on.
	runs []*run
	// formerly are the sets that members of others belong to by their previous names.
	formerly map[string]*run
	// locals that expressions see.
	locals *expression.Locals
	// seen are the runs that expressions refer to, by name.
	seen map[string]bool
	// Status of the XR, if there is any.
	status *expression.Template
	// conditions of the XR.
	conditions []xrCondition
	// fits are the schemas of the status, if they are known.
	fits fits
	// details are the connection details of the XR.
	details details
	// Required resources, each after those that it refers to.
	required []required
	// refused is what the API server would refuse of the AnsibleRuns.
	refused field.ErrorList
	// byResource are the runs by their resource names.
	byResource map[string]*run
	// refers is true when expressions refer to what other steps compose.
	refers bool
}

// run that a composed resource comes from, also by an earlier name of a set; nil for
// none.
func (c *Composition) run(resource string) *run {
	set, _, ok := member(resource)
	if !ok {
		set = resource
	}

	if run := c.byResource[set]; run != nil && run.makes(resource) {
		return run
	}

	if !ok {
		return nil
	}

	return c.formerly[set]
}

// A run of the input, compiled.
type run struct {
	name string
	// path of the run in the input.
	path *field.Path
	// resource is the composition resource name; of a set, what those of its
	// members start with.
	resource string
	// object is the AnsibleRun without what is computed.
	object object
	// when says whether the run is wanted; nothing does for runs that always
	// are.
	when *expression.Template
	// always is true for runs without a when.
	always bool
	// readyWhen says whether a run is ready whose AnsibleRun is; nil for those that
	// always are.
	readyWhen *expression.Template
	// each is nil for a single run.
	each *each
	variables
	// inventory is nil when there is none, or only literal text.
	inventory *inventory
	// templates are those of the AnsibleRun itself.
	templates []*expression.Template
	// uses are the templates that say what the run depends on.
	uses []*expression.Template
	// needs are the runs that this one depends on: true when it cannot be there
	// without the other one.
	needs map[string]bool
	// sets are the runs of which this one depends on more than one member.
	sets map[string]bool
	// pairs are the sets each of whose members one of this set depends on: that of
	// the same key.
	pairs map[string]bool
	// usages hold what this run depends on until this run is gone.
	usages bool
	// prune is false for a run that stays when it is not wanted any more.
	prune bool
	// previous names of the composed resource; nil when nothing is said of them.
	previous *expression.Template
	// atMost so many members of a set go at once; nil for any number.
	atMost *intstr.IntOrString
}

// Schemas are what is known of what expressions see.
type Schemas struct {
	// XR, unless it is nil.
	XR *expression.Schema
	// Resources that other steps compose, by composition resource name, with their
	// OpenAPI v3 schemas as far as they are known; nil when there may be any.
	Resources map[string]map[string]any
}

// Compile an input as read by package input, for XRs that are namespaced or
// cluster-scoped. The errors are all mistakes that can be found without an XR. It
// copes with inputs that violate the schema, but does not report what the schema
// does.
func Compile(in map[string]any, namespaced bool, known Schemas) (*Composition, field.ErrorList) {
	return compile(in, namespaced, expression.Declarations{Schema: known.XR, Resources: known.Resources})
}

// compile an input, for expressions that see these beside what the input declares.
func compile(in map[string]any, namespaced bool, d expression.Declarations) (*Composition, field.ErrorList) {
	templates, errs := merge(in)

	envs, err := environments(in, templates, d)
	if err != nil {
		return nil, append(errs, field.InternalError(nil, err))
	}

	errs = append(errs, envs.mistakes...)
	errs = append(errs, expressions(envs, in)...)
	c := &Composition{locals: envs.locals, byResource: map[string]*run{}}

	status, serrs := compileStatus(envs.xr, in)
	errs = append(errs, serrs...)
	c.status = status

	c.fits = fitsOf(c.status, d.Schema.OpenAPI())

	conditions, cerrs := compileConditions(envs.xr, in)
	errs = append(errs, cerrs...)
	c.conditions = conditions

	details, derrs := compileDetails(envs.details, in, namespaced)
	errs = append(errs, derrs...)
	c.details = details

	for _, t := range templates {
		if len(details.names) > 0 && t.resource() == ResourceConnection {
			errs = append(errs, field.Invalid(t.path.Child("resourceName"), ResourceConnection, "this is the name of the Secret with the connectionDetails"))
		}
	}

	required, rerrs := compileRequired(envs.xr, in, namespaced)
	errs = append(errs, rerrs...)
	c.required = required

	for _, t := range templates {
		r, rerrs := compileRun(envs.of(t.object), t, namespaced, names(templates))
		errs = append(errs, rerrs...)
		c.runs = append(c.runs, r)
		c.byResource[r.resource] = r

		// What is wrong with a run would be said twice.
		if len(rerrs) == 0 {
			c.refused = append(c.refused, r.refused(t, in)...)
		}
	}

	pair(c.runs)

	errs = append(errs, c.unreferables()...)
	errs = append(errs, unusable(c.runs, templates)...)
	errs = append(errs, previousMistakes(templates)...)
	c.formerly = formerly(c.runs, templates)

	c.seen = envs.runs()

	ordered, oerrs := order(c.runs)
	c.runs = ordered
	c.refers = slices.ContainsFunc(c.templates(), func(t *expression.Template) bool { return len(t.ResourceNames()) > 0 })

	return c, append(errs, oerrs...)
}

// scopes are what expressions see, by where they stand.
type scopes struct {
	// xr is all but each, which item has too.
	xr, item *expression.Environment
	// details is where runs have their connection details.
	details *expression.Environment
	// typed are those with an item of which something is known, by its type.
	typed map[string]*expression.Environment
	// declarations that they were made of.
	declarations expression.Declarations
	// locals that all of them see, and the mistakes in them.
	locals   *expression.Locals
	mistakes field.ErrorList
}

func environments(in map[string]any, templates []template, d expression.Declarations) (scopes, error) {
	run, err := runSchema()
	if err != nil {
		return scopes{}, errors.Wrap(err, "cannot read the schema of AnsibleRuns")
	}

	required := requiredNames(in)
	maps.Copy(required, d.Required)
	d.Runs, d.Required, d.Run = names(templates), required, run

	locals, _ := in["locals"].(map[string]any)
	d.Locals = expression.NewLocals(locals)

	xr, err := expression.NewEnvironment(d)
	if err != nil {
		return scopes{}, err
	}

	mistakes := compileLocals(xr, locals)

	d.Each = true

	item, err := expression.NewEnvironment(d)
	if err != nil {
		return scopes{}, err
	}

	d.Each, d.Details = false, true
	details, err := expression.NewEnvironment(d)

	return scopes{
		xr: xr, item: item, details: details, typed: map[string]*expression.Environment{}, declarations: d, locals: d.Locals, mistakes: mistakes,
	}, err
}

// compileLocals, which depend on no item.
func compileLocals(env *expression.Environment, locals map[string]any) field.ErrorList {
	at := field.NewPath("locals")
	errs := env.CompileLocals(at)

	for _, name := range manifest.SortedKeys(locals) {
		if err := expression.LocalName(name); err != nil {
			errs = append(errs, field.Invalid(at.Child(name), name, err.Error()))
		}
	}

	return errs
}

// of a run, or the defaults.
func (s scopes) of(object map[string]any) *expression.Environment {
	items, ok := object["forEach"]
	if !ok {
		return s.xr
	}

	t, _ := s.xr.Compile(field.NewPath("forEach"), items)

	item := s.xr.Item(t)
	if item == nil {
		return s.item
	}

	if s.typed[item.Type] == nil {
		d := s.declarations
		d.Each, d.Details, d.Item = true, false, item

		env, err := expression.NewEnvironment(d)
		if err != nil {
			return s.item
		}

		s.typed[item.Type] = env
	}

	return s.typed[item.Type]
}

// runs that expressions refer to, by name.
func (s scopes) runs() map[string]bool {
	runs := map[string]bool{}

	for _, env := range s.typed {
		maps.Copy(runs, env.Runs())
	}

	for _, env := range []*expression.Environment{s.xr, s.item, s.details} {
		maps.Copy(runs, env.Runs())
	}

	return runs
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

// reservedStatus are the fields that Crossplane has in the status of XRs.
var reservedStatus = [...]string{"claimConditionTypes", "conditions", "crossplane"} //nolint:gochecknoglobals // Go has no constant arrays.

// compileStatus of the XR: nil without one.
func compileStatus(env *expression.Environment, in map[string]any) (*expression.Template, field.ErrorList) {
	v, ok := in["status"]
	if !ok {
		return nil, nil
	}

	path := field.NewPath("status")
	t, errs := env.Compile(path, v)

	if t.Fields() == nil && !t.Computed() {
		errs = append(errs, field.Invalid(path, v, "must be fields, or an expression that is an object"))
	}

	errs = append(errs, mistyped(path, t, expression.Object)...)

	for _, name := range reservedStatus {
		if _, ok := t.Fields()[name]; ok {
			errs = append(errs, field.Forbidden(path.Child(name), "this field is Crossplane's own"))
		}
	}

	return t, errs
}

func compileRun(env *expression.Environment, t template, namespaced bool, all map[string]bool) (*run, field.ErrorList) {
	object, errs := objectOf(env, t, namespaced)

	r := &run{
		name:     manifest.Text(t.object, "name"),
		path:     t.path,
		always:   t.object["when"] == nil,
		resource: t.resource(),
		object:   object,
		needs:    map[string]bool{},
		sets:     map[string]bool{},
		pairs:    map[string]bool{},
		usages:   t.object["usages"] != false,
		prune:    t.object["prune"] != false,
	}

	r.when, _ = env.Compile(field.NewPath("when"), true)

	if v, ok := t.object["when"]; ok {
		r.when, _ = env.Compile(field.NewPath("when"), v)
		if !r.when.Is(expression.Boolean) || v == nil {
			errs = append(errs, field.Invalid(t.path.Child("when"), v, "must be true, false, or an expression that is one of them"))
		}

		r.need(r.when)
	}

	if v, ok := t.object["readyWhen"]; ok {
		r.readyWhen, _ = env.Compile(field.NewPath("readyWhen"), v)
		if !r.readyWhen.Is(expression.Boolean) || v == nil {
			errs = append(errs, field.Invalid(t.path.Child("readyWhen"), v, "must be true, false, or an expression that is one of them"))
		}

		// It looks at what came of the run itself.
		for name := range r.readyWhen.Runs() {
			if needed := r.needs[name]; name != r.name {
				r.needs[name] = needed
			}
		}
	}

	each, eerrs := compileEach(env, t)
	errs = append(errs, eerrs...)
	r.each = each

	if names, ok := t.object["previousNames"]; ok {
		r.previous, _ = env.Compile(field.NewPath("previousNames"), names)
		r.need(r.previous)
	}

	atMost, merrs := atMostOf(t)
	errs = append(errs, merrs...)
	r.atMost = atMost

	r.need(each.templates()...)

	variables, verrs := compileVariables(env, t)
	errs = append(errs, verrs...)
	r.variables = variables

	inventory, templates, ierrs := compileInventory(env, t)
	errs = append(errs, ierrs...)
	r.inventory = inventory
	r.templates = slices.Concat(variables.templates(), templates, object.templates())
	r.need(r.templates...)

	return r, append(errs, r.dependsOn(t, all)...)
}

// dependsOn adds the runs that the run depends on without referring to them.
func (r *run) dependsOn(t template, all map[string]bool) field.ErrorList {
	var errs field.ErrorList

	seen := map[string]bool{}
	names, _ := t.object["dependsOn"].([]any)

	for i := range names {
		name, _ := names[i].(string)
		path := t.path.Child("dependsOn").Index(i)

		if _, ok := all[name]; !ok {
			errs = append(errs, field.Invalid(path, name, "there is no such run"+spelling.Hint(name, manifest.SortedKeys(all))))
			continue
		}

		if seen[name] {
			errs = append(errs, field.Duplicate(path, name))
		}

		seen[name] = true
		needed := r.needs[name]
		r.needs[name], r.sets[name] = needed, true
	}

	return errs
}

func (r *run) need(templates ...*expression.Template) {
	r.uses = append(r.uses, templates...)

	for _, t := range templates {
		for name, needed := range t.Runs() {
			r.needs[name] = r.needs[name] || needed
		}

		maps.Copy(r.sets, t.Sets())
	}
}

// pair the members of sets that depend on each other by key.
func pair(runs []*run) {
	for _, r := range runs {
		for _, on := range runs {
			_, needed := r.needs[on.name]
			if needed && r.each != nil && on.each != nil && !r.sets[on.name] {
				r.pairs[on.name] = true
			}
		}
	}
}
