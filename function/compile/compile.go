// Package compile compiles an input to a Plan, once for all XRs of one scope. It returns the mistakes in the input that
// can be found without an XR, with their paths.
package compile

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// Input compiles an input for Operations, for namespaced XRs or for cluster-scoped XRs. Its expressions see the
// declarations d and those of the input. The errors are all mistakes that can be found without an XR. The plan is nil
// only if the object is of another kind.
func Input(in map[string]any, namespaced bool, d expression.Declarations) (*plan.Plan, field.ErrorList) {
	in, errs := input.Read(in)
	if in == nil {
		return nil, errs
	}

	if d.Operation {
		errs = append(errs, withoutXR(in)...)
		d.Required = map[string]bool{plan.Watched: false}
	}

	p, mistakes := compile(in, namespaced, d)

	return p, input.Causes(in, append(errs, mistakes...))
}

// compile compiles an input that may violate the schema. It does not report violations of the schema.
func compile(in map[string]any, namespaced bool, d expression.Declarations) (*plan.Plan, field.ErrorList) {
	from, errs := input.Runs(in)

	// input.Runs has decoded the runs, with the defaults.
	typed := v1alpha1.AnsibleRuns{}
	input.Decode(manifest.Pick(in, "requiredResources", "conditions", "operatorConditions", "connectionDetails",
		"connectionSecret"), &typed)

	envs, mistakes := environments(in, typed.RequiredResources, from, d)
	errs = append(errs, mistakes...)
	c := compiler{env: envs.xr, mistakes: &errs}
	details := compiler{env: envs.details, mistakes: &errs}

	p := &plan.Plan{
		Locals:             envs.declarations.Locals,
		Status:             c.status(in),
		Conditions:         c.conditions(in, typed.Conditions, typed.OperatorConditions),
		OperatorConditions: typed.OperatorConditions,
		Connection:         details.connection(typed, namespaced),
		Required:           c.required(typed.RequiredResources, namespaced),
		ByResource:         map[string]*plan.Run{},
	}

	if p.Status != nil {
		p.StatusSchema = statusSchema(p.Status, d.Schema)
	}

	var (
		runs     []run
		refusals field.ErrorList
	)

	for _, f := range from {
		before := len(errs)
		r := c.run(f, envs, namespaced)
		runs = append(runs, r)
		p.Runs = append(p.Runs, r.Run)
		p.ByResource[r.Name] = r.Run

		// A run with mistakes would have the same ones in its AnsibleRun.
		if len(errs) == before {
			refusals = append(refusals, refused(r.Run, f)...)
		}

		if d.Operation {
			c.inoperable(f)
		}
	}

	pair(runs)
	c.unreferables(p)
	c.unusable(runs)
	c.previousMistakes(runs)
	p.PreviousSets = previousSets(runs)
	p.Runs = c.order(p.Runs)

	for _, t := range p.Templates() {
		p.ReadsResources = p.ReadsResources || len(t.ResourceNames()) > 0

		for name := range t.Runs() { // These include runs that the template does not need.
			p.ByResource[name].Referenced = true
		}

		for name := range t.Published {
			p.ByResource[name].Published = true
		}
	}

	c.secretNamespaces(p)

	return p, slices.Concat(errs, refusals)
}

// A compiler compiles a part of the input, and collects the mistakes.
type compiler struct {
	env *expression.Environment
	// at is the path of the part. Templates have paths relative to it, which messages about values of an XR show.
	at       *field.Path
	mistakes *field.ErrorList
}

func (c compiler) add(mistakes ...*field.Error) { *c.mistakes = append(*c.mistakes, mistakes...) }

// compile compiles the value at a path below c.at. If there are types, a computed value must be of one of them. The
// schema of the input checks the types of literal values.
func (c compiler) compile(path *field.Path, v any, types ...expression.Type) *expression.Template {
	t, errs := c.env.Compile(path, v)
	for _, err := range errs {
		err.Field = c.at.Child(err.Field).String()
		c.add(err)
	}

	if len(types) > 0 {
		c.typed(c.at.Child(path.String()), t, types...)
	}

	return t
}

// typed reports a computed value that cannot be of one of the types.
func (c compiler) typed(at *field.Path, t *expression.Template, types ...expression.Type) {
	if !t.Computed || t.Is(types...) {
		return
	}

	names := make([]string, len(types))
	for i := range types {
		names[i] = string(types[i])
	}

	message := "must be of type " + strings.Join(names, " or ") + ", and is of type " + string(t.Type())
	if slices.Equal(types, []expression.Type{expression.String}) && t.Type() != expression.Object &&
		t.Type() != expression.Array {
		message += "; write string(…) around it"
	}

	c.add(field.Invalid(at, t.String(), message))
}

// boolean compiles a value that must be true, false, or an expression of type boolean.
func (c compiler) boolean(name string, v any) *expression.Template {
	t := c.compile(field.NewPath(name), v)
	if !t.Is(expression.Boolean) || v == nil {
		c.add(field.Invalid(c.at.Child(name), v, "must be true, false, or an expression that is one of them"))
	}

	return t
}

// secretNamespaces reports the first cluster-scoped run with a Secret if connectionSecret.namespace is missing.
func (c compiler) secretNamespaces(p *plan.Plan) {
	for _, run := range p.Runs {
		if run.Published && run.APIVersion() == ansiblerun.APIVersionCluster && p.Connection.Namespace == "" {
			c.add(field.Required(field.NewPath("connectionSecret", "namespace"),
				"the cluster-scoped run "+run.Name+" has a Secret for the connection details that an expression reads, "+
					"and that Secret needs a namespace"))

			return
		}
	}
}

// unreferables reports expressions that refer to resources with literal names that Plan.Unreferable refuses.
func (c compiler) unreferables(p *plan.Plan) {
	check := func(path *field.Path, names map[string]bool) {
		for _, name := range manifest.SortedKeys(names) {
			if err := p.Unreferable(name); names[name] && err != nil {
				c.add(field.Invalid(path, "resources."+name, err.Error()))
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
		check(field.NewPath(t.Path), t.ResourceNames())
	}
}
