// Package compile makes a Plan of an input: all that does not depend on an XR is done
// here, once for each input. The errors are the mistakes of the Composition, by their
// places in the input.
package compile

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/fields"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
	"github.com/crossplane-ansible/crossplane-ansible/function/schema"
)

// Schemas are the schemas of objects that expressions see, as far as they are known.
type Schemas struct {
	// XR is the schema of the XR; nil when it is not known.
	XR *expression.Schema
	// Resources that other steps compose, by composition resource name, with their
	// OpenAPI v3 schemas as far as they are known; nil when there may be any.
	Resources map[string]map[string]any
}

// Composition compiles an input as read by package input, for XRs that are namespaced or
// cluster-scoped. The errors are all mistakes that can be found without an XR, for
// input.Causes. It copes with inputs that violate the schema, but does not report what the
// schema does.
func Composition(in map[string]any, namespaced bool, known Schemas) (*plan.Plan, field.ErrorList) {
	return compileInput(in, namespaced, expression.Declarations{Schema: known.XR, Resources: known.Resources})
}

// compileInput compiles an input. Its expressions see these declarations and what the input declares.
func compileInput(in map[string]any, namespaced bool, d expression.Declarations) (*plan.Plan, field.ErrorList) {
	from, errs := input.Runs(in)

	// The runs are decoded with the defaults.
	typed := v1alpha1.AnsibleRuns{}
	input.Decode(manifest.Pick(in, "requiredResources", "conditions", "operatorConditions", "connectionDetails",
		"connectionSecret"), &typed)

	envs, err := environments(in, typed.RequiredResources, from, d)
	if err != nil {
		return nil, append(errs, field.InternalError(nil, err))
	}

	errs = append(errs, envs.mistakes...)
	errs = append(errs, expressions(envs, in, from)...)
	p := &plan.Plan{Locals: envs.locals, ByResource: map[string]*plan.Run{}}

	status, serrs := compileStatus(envs.xr, in)
	errs = append(errs, serrs...)
	p.Status, p.Schemas = status, statusSchemasOf(status, d.Schema.OpenAPI())

	if of, ok := schema.Property(d.Schema.OpenAPI(), "status"); ok && status != nil {
		p.StatusSchema = schema.NewConverter(of)
	}

	conditions, cerrs := compileConditions(envs.xr, in, typed.Conditions, typed.OperatorConditions)
	errs = append(errs, cerrs...)
	p.Conditions, p.OperatorConditions = conditions, typed.OperatorConditions

	details, derrs := compileConnection(envs.details, typed, namespaced)
	errs = append(errs, derrs...)
	p.Connection = details

	required, rerrs := compileRequired(envs.xr, typed.RequiredResources, namespaced)
	errs = append(errs, rerrs...)
	p.Required = required

	var (
		runs      []run
		unordered []*plan.Run
		refusals  field.ErrorList
	)

	for i := range from {
		r, rerrs := compileRun(envs.of(from[i].Object), from[i], namespaced, envs.declarations.Runs)
		errs = append(errs, rerrs...)
		runs, unordered = append(runs, r), append(unordered, r.Run)
		p.ByResource[r.Name] = r.Run

		// What is wrong with a run would be said twice.
		if len(rerrs) == 0 {
			refusals = append(refusals, refused(r.Run, r.from)...)
		}
	}

	pair(runs)

	p.Runs = unordered
	errs = append(errs, unreferables(p)...)
	errs = append(errs, unusable(runs)...)
	errs = append(errs, previousMistakes(runs)...)
	p.PreviousSets = previousSets(runs)

	p.Referenced = envs.runs()

	ordered, oerrs := order(unordered)
	p.Runs = ordered
	p.ReadsResources = slices.ContainsFunc(p.Templates(),
		func(t *expression.Template) bool { return len(t.ResourceNames()) > 0 })

	for _, t := range p.Templates() {
		for name := range t.Published() {
			for _, run := range p.Runs {
				run.Published = run.Published || run.Name == name
			}
		}
	}

	errs = append(errs, secretsNowhere(p)...)

	return p, slices.Concat(errs, oerrs, refusals)
}

// secretsNowhere reports the first run with a Secret for which there is no namespace. No XR chooses one.
func secretsNowhere(p *plan.Plan) field.ErrorList {
	for _, run := range p.Runs {
		if run.Published && run.Object.APIVersion == ansiblerun.APIVersionCluster && p.Connection.Namespace == "" {
			return field.ErrorList{field.Required(field.NewPath("connectionSecret", "namespace"),
				"the cluster-scoped run "+run.Name+" has a Secret for the connection details that an expression reads, "+
					"and that Secret needs a namespace")}
		}
	}

	return nil
}

// expressions returns the mistakes of all expressions, where they were written.
func expressions(envs scopes, in map[string]any, runs []input.Run) field.ErrorList {
	var errs field.ErrorList

	compile := func(env *expression.Environment, at *field.Path, object map[string]any) {
		for _, name := range manifest.SortedKeys(object) {
			if f := fields.Of(name); f.Kind != fields.Computed && f.Kind != fields.Setting {
				continue
			}

			// Items do not see themselves.
			e := env
			if name == "forEach" {
				e = envs.xr
			}

			_, cerrs := e.Compile(at.Child(name), object[name])
			errs = append(errs, cerrs...)
		}

		for _, t := range references(at, object) {
			_, rerrs := env.Compile(t.Path, t.Value)
			errs = append(errs, rerrs...)
		}
	}

	// Whether there is an item follows from the runs that they lie under.
	if defaults, ok := in["defaults"].(map[string]any); ok {
		compile(envs.item, field.NewPath("defaults"), defaults)
	}

	for _, r := range runs {
		compile(envs.of(r.Object), r.Path, r.Own)
	}

	return errs
}

// unreferables reports expressions with literal names that Unreferable refuses.
func unreferables(p *plan.Plan) field.ErrorList {
	var errs field.ErrorList

	check := func(path *field.Path, names map[string]bool) {
		for _, name := range manifest.SortedKeys(names) {
			if err := p.Unreferable(name); names[name] && err != nil {
				errs = append(errs, field.Invalid(path, "resources."+name, err.Error()))
			}
		}
	}

	for _, run := range p.Runs {
		check(run.Path, run.Resources())

		if run.ReadyWhen != nil {
			check(run.Path, run.ReadyWhen.ResourceNames())
		}
	}

	for _, t := range p.Reported() {
		check(field.NewPath(t.Path()), t.ResourceNames())
	}

	return errs
}
