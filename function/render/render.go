package render

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
)

// A Result is what an input becomes for an XR.
type Result struct {
	// Runs of the input, each after those that it depends on, and then those
	// that left the Composition but have to stay for a while.
	Runs []Run
	// Status fields for the XR.
	Status map[string]any
	// Problems of status fields, other than values that are still to come.
	Problems []expression.Problem
}

// A rendering of a Composition for an XR.
type rendering struct {
	composition *Composition
	observed    Observed
	data        expression.Data
	runs        map[string]Run
}

// Render the Composition for an XR. A run that was observed is always in the
// result with something to apply, unless it is not wanted any more.
func (c *Composition) Render(ctx context.Context, observed Observed) Result {
	r := &rendering{
		composition: c,
		observed:    observed,
		data:        expression.Data{XR: viewXR(observed.XR), Runs: map[string]any{}, Budget: expression.NewBudget()},
		runs:        map[string]Run{},
	}

	result := Result{}

	for _, run := range c.runs {
		out := r.render(ctx, run)
		r.runs[run.name] = out

		// A run that is not wanted is not there for others.
		if o, ok := observed.Resources[run.resource]; ok && out.Reason != Skipped {
			r.data.Runs[run.name] = view(o)
		}

		result.Runs = append(result.Runs, out)
	}

	result.Runs = r.stay(result.Runs)
	result.Status, result.Problems = r.status(ctx)

	return result
}

// render a run whose dependencies are rendered.
func (r *rendering) render(ctx context.Context, run *run) Run {
	out := Run{Name: run.name, Resource: run.resource}

	if name := r.unwanted(run); name != "" {
		out.Reason = Skipped
		out.Messages = []string{"not wanted, for it refers to " + name + ", which is not wanted"}

		return out
	}

	if waiting := r.unready(run.whenNeeds()); len(waiting) > 0 {
		return r.wait(out, waiting)
	}

	wanted, problems := r.wanted(ctx, run)
	if len(problems) > 0 {
		return r.hold(out, problems)
	}

	if !wanted {
		out.Reason = Skipped
		return out
	}

	if waiting := r.unready(run.needs); len(waiting) > 0 {
		return r.wait(out, waiting)
	}

	object, problems := r.object(ctx, run)
	if len(problems) > 0 {
		return r.hold(out, problems)
	}

	out.Desired = object
	out.Reason, out.Messages = describe(r.observed.Resources[run.resource], object, r.observed.reported(run.name))

	return out
}

// unwanted returns a run that this one cannot be without, and that is not
// wanted.
func (r *rendering) unwanted(run *run) string {
	for _, name := range slices.Sorted(maps.Keys(run.needs)) {
		if run.needs[name] && r.runs[name].Reason == Skipped {
			return name
		}
	}

	return ""
}

// wanted evaluates when.
func (r *rendering) wanted(ctx context.Context, run *run) (bool, []expression.Problem) {
	if run.when == nil {
		return true, nil
	}

	v, ok, problems := run.when.Evaluate(ctx, r.data)
	if len(problems) > 0 {
		return false, problems
	}

	wanted, isBool := v.(bool)
	if ok && !isBool {
		return false, []expression.Problem{{Path: "when", Kind: expression.Invalid, Message: "must be true or false"}}
	}

	return wanted || !ok, nil
}

// unready returns the names of those runs that are wanted, but not ready.
func (r *rendering) unready(needs map[string]bool) []string {
	var names []string

	for _, name := range slices.Sorted(maps.Keys(needs)) {
		if !r.runs[name].Done() {
			names = append(names, name)
		}
	}

	return names
}

// object renders the AnsibleRun. Variables that hold an expression must not be
// templated by Ansible, for their values come from people without trust.
func (r *rendering) object(ctx context.Context, run *run) (map[string]any, []expression.Problem) {
	var problems []expression.Problem

	vars, unsafeVars := map[string]any{}, map[string]any{}

	for _, name := range slices.Sorted(maps.Keys(run.variables())) {
		t := run.variables()[name]

		v, ok, ps := t.Evaluate(ctx, r.data)
		problems = append(problems, ps...)

		switch {
		case !ok:
		case t.Computed():
			unsafeVars[name] = v
		default:
			vars[name] = v
		}
	}

	object := run.object.with(vars, unsafeVars, r.dependsOn(run))

	return object, append(problems, r.moved(run, object)...)
}

// dependsOn returns the composition resource names of the runs that this one is
// rendered after: those that it can do without only while they are wanted.
func (r *rendering) dependsOn(run *run) []string {
	var resources []string

	for name := range run.needs {
		if r.runs[name].Reason != Skipped {
			resources = append(resources, r.runs[name].Resource)
		}
	}

	slices.Sort(resources)

	return resources
}

// moved reports a run that is to be somewhere else than it is: core would apply
// it there, and forget the one that is.
func (r *rendering) moved(run *run, object map[string]any) []expression.Problem {
	observed, ok := r.observed.Resources[run.resource]
	if !ok {
		return nil
	}

	group, _, _ := strings.Cut(text(object, fieldAPIVersion), "/")
	was, _, _ := strings.Cut(text(observed, fieldAPIVersion), "/")

	namespace, _, _ := unstructured.NestedString(object, fieldMetadata, fieldNamespace)
	lives, _, _ := unstructured.NestedString(observed, fieldMetadata, fieldNamespace)

	if group == was && (namespace == "" || namespace == lives) {
		return nil
	}

	return []expression.Problem{{Path: "scope", Kind: expression.Invalid, Message: "a run cannot move to another scope or namespace; give it another resourceName"}}
}

// wait with a run for others.
func (r *rendering) wait(out Run, names []string) Run {
	out.Reason = DependencyNotReady
	out.Messages = []string{waitingFor + strings.Join(names, ", ")}

	return r.keep(out)
}

// hold a run because of problems.
func (r *rendering) hold(out Run, problems []expression.Problem) Run {
	for _, kind := range []expression.Kind{expression.Pending, expression.NotSet, expression.Invalid} {
		for _, p := range problems {
			if p.Kind == kind {
				out.Reason = Reason(kind)
			}
		}
	}

	for _, p := range problems {
		out.Messages = append(out.Messages, p.String())
	}

	return r.keep(out)
}

// keep a run as it is: apply again what was applied, or nothing when nothing
// was.
func (r *rendering) keep(out Run) Run {
	if o, ok := r.observed.Resources[out.Resource]; ok {
		out.Desired, _ = applied(o)
	}

	return out
}
