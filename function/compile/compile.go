// Package compile makes a Plan of an input: all that does not depend on an XR is done
// here, once for each input. The errors are the mistakes of the Composition, by their
// places in the input.
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

// Input compiles an input, for Operations or for XRs that are namespaced or cluster-scoped. Its expressions see
// these declarations and what the input declares. The errors are all mistakes that can be found without an XR,
// where they were written. There is a plan, too, unless it is no input at all.
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

// compile an input that may violate the schema. What the schema reports is not reported here.
func compile(in map[string]any, namespaced bool, d expression.Declarations) (*plan.Plan, field.ErrorList) {
	from, errs := input.Runs(in)

	// The runs are decoded with the defaults.
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

		// What is wrong with a run would be said twice.
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

		for name := range t.Runs() { // Some of them it can do without.
			p.ByResource[name].Referenced = true
		}

		for name := range t.Published {
			p.ByResource[name].Published = true
		}
	}

	c.secretsNowhere(p)

	return p, slices.Concat(errs, refusals)
}

// A compiler compiles what is at a place in the input, and collects the mistakes. Templates have their paths below that
// place, which messages about the values of an XR show.
type compiler struct {
	env      *expression.Environment
	at       *field.Path
	mistakes *field.ErrorList
}

func (c compiler) add(mistakes ...*field.Error) { *c.mistakes = append(*c.mistakes, mistakes...) }

// compile what is at a path. A computed value must be of one of these types, if there are any: the schema of the input
// checks literal values.
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

// typed reports a computed value that can never be of one of these types.
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

// boolean reports a value that is neither true nor false, nor an expression that is one of them.
func (c compiler) boolean(name string, v any) *expression.Template {
	t := c.compile(field.NewPath(name), v)
	if !t.Is(expression.Boolean) || v == nil {
		c.add(field.Invalid(c.at.Child(name), v, "must be true, false, or an expression that is one of them"))
	}

	return t
}

// secretsNowhere reports the first run with a Secret for which there is no namespace. No XR chooses one.
func (c compiler) secretsNowhere(p *plan.Plan) {
	for _, run := range p.Runs {
		if run.Published && run.APIVersion() == ansiblerun.APIVersionCluster && p.Connection.Namespace == "" {
			c.add(field.Required(field.NewPath("connectionSecret", "namespace"),
				"the cluster-scoped run "+run.Name+" has a Secret for the connection details that an expression reads, "+
					"and that Secret needs a namespace"))

			return
		}
	}
}

// unreferables reports expressions with literal names that Unreferable refuses.
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
