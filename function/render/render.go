package render

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression/cost"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A Result is what an input becomes for an XR.
type Result struct {
	// Runs of the input, each after those that it depends on, and then those
	// that left the Composition but have to stay for a while.
	Runs []Run
	// Status fields for the XR, over those of earlier steps of the pipeline.
	Status map[string]any
	// Kept are status fields that the XR has, under those of earlier steps.
	Kept map[string]any
	// Removed are the composition resource names of runs that are not wanted any
	// more, and that core removes now.
	Removed []string
	// Conditions for the XR.
	Conditions []Condition
	// Requirements are the resources that core is to fetch.
	Requirements map[string]Requirement
	// Usages of runs by those that depend on them, by composition resource
	// name; nil for one of an earlier step that is not to be.
	Usages map[string]map[string]any
	// Details are the connection details of a legacy XR.
	Details map[string][]byte
	// Secret with the connection details of any other XR; nil for none.
	Secret map[string]any
	// Problems of status fields and connection details, other than values that
	// are still to come.
	Problems []expression.Problem
}

// A rendering of a Composition for an XR.
type rendering struct {
	composition *Composition
	observed    Observed
	data        expression.Data
	outcomes    map[string]outcome
	// missing says why required resources are not there, by their names.
	missing map[string][]expression.Problem
	// relations of what was observed.
	relations relations
	// became is the reason of each run that is wanted or skipped, by its
	// composition resource name, once all are rendered.
	became map[string]Reason
	// usages that the runs so far are worth.
	pairs int
	// departing are the AnsibleRuns of the XR that are being deleted, as far as core
	// was asked for them.
	departing []departing
	// arriving is true when a run is to be created.
	arriving bool
	// refers are the resources of other steps that runs refer to, by the composition
	// resource names of the runs, as far as they were rendered.
	refers map[string]map[string]bool
	// called are composition resource names that core has for others.
	called map[string]string
	// uncertain are runs of which it is not known what they were called before.
	uncertain map[*run]bool
}

// An outcome is what became of a run of the input: one run, or those of a set.
type outcome struct {
	runs []Run
	// members of a set among them, by key.
	members map[string]Run
	// skipped is true for what is not wanted.
	skipped bool
}

// outcomeOf runs. It is not there for others when none of them is wanted.
func outcomeOf(runs []Run) outcome {
	out := outcome{runs: runs, skipped: len(runs) > 0 && !slices.ContainsFunc(runs, func(r Run) bool { return r.Reason != Skipped })}

	for _, r := range runs {
		if _, key, ok := member(r.Name); ok {
			if out.members == nil {
				out.members = map[string]Run{}
			}

			out.members[key] = r
		}
	}

	return out
}

// on is what became of a run that another one needs: of a set, all of it, or the
// member of the same key.
func (r *rendering) on(run *run, name string, data expression.Data) outcome {
	out := r.outcomes[name]

	key, ok := data.Each["key"].(string)
	if !ok || !run.pairs[name] {
		return out
	}

	if m, ok := out.members[key]; ok {
		return outcome{runs: []Run{m}, skipped: m.Reason == Skipped}
	}

	// What became of the set became of each of them.
	if len(out.runs) > 0 && out.runs[0].Name == name {
		return outcome{runs: out.runs[:1], skipped: out.skipped}
	}

	return outcome{}
}

// done is true when nothing is to be waited for.
func (o outcome) done() bool {
	return !slices.ContainsFunc(o.runs, func(r Run) bool { return !r.Done() })
}

// Render the Composition for an XR. A run that was observed is always in the
// result with something to apply, unless it is not wanted any more.
func (c *Composition) Render(ctx context.Context, observed Observed) Result {
	r := &rendering{
		composition: c,
		observed:    observed,
		data: expression.Data{
			XR:          viewXR(observed.XR),
			Runs:        map[string]any{},
			Required:    c.viewRequired(observed.Required),
			Resources:   c.viewResources(observed),
			Environment: observed.environment(),
			Context:     observed.Context,
			Budget:      &cost.Budget{},
		},
		outcomes:  map[string]outcome{},
		refers:    map[string]map[string]bool{},
		called:    map[string]string{},
		uncertain: map[*run]bool{},
	}
	r.data.Locals = c.locals.For(r.data)
	r.departing = r.departed()

	result := Result{}
	result.Requirements = r.requirements(ctx)

	for _, run := range c.runs {
		out := r.outcome(ctx, run)
		r.outcomes[run.name] = out
		r.see(run, out)

		result.Runs = append(result.Runs, out.runs...)
	}

	r.relations = r.relate()
	r.settle(result.Runs)
	r.ask(result)
	result.Runs = r.stay(result.Runs)
	result.Removed = r.removed(result.Runs)
	result.Usages = r.usages()
	result.Status, result.Kept, result.Problems = r.status(ctx)

	conditions, unknown := r.conditions(ctx)
	result.Conditions = conditions
	result.Problems = append(result.Problems, unknown...)

	for i := range result.Runs {
		result.Runs[i].Resource = r.calls(result.Runs[i].Resource)
	}

	details, secret, problems := r.details(ctx)
	result.Details, result.Secret = details, secret
	result.Problems = append(result.Problems, problems...)

	return result
}

// see what was observed of a run, from now on, if anything looks at it. A run that
// is not wanted is not there for others.
func (r *rendering) see(run *run, out outcome) {
	if out.skipped || !r.composition.seen[run.name] {
		return
	}

	if run.each == nil {
		if o, ok := r.observed.run(run.resource); ok {
			r.data.Runs[run.name] = view(o)
		}

		return
	}

	set := map[string]any{}

	for _, m := range out.runs {
		key, member := run.key(m.Resource)
		if o, ok := r.observed.run(m.Resource); ok && member && m.Reason != Skipped {
			set[key] = view(o)
		}
	}

	r.data.Runs[run.name] = set
}

// outcome of a run whose dependencies are rendered.
func (r *rendering) outcome(ctx context.Context, run *run) outcome {
	out := Run{Name: run.name, Resource: run.resource}

	if run.each == nil {
		if problems := r.adopt(ctx, run, run.resource, r.data, nil); len(problems) > 0 {
			return outcomeOf([]Run{r.hold(out, problems)})
		}
	}

	// Whether an item is wanted is a question to each of them.
	if !run.asks() {
		if decided, ok := r.decide(ctx, run, out, r.data); ok {
			return outcomeOf(r.whole(run, decided))
		}
	}

	if run.each != nil {
		return outcomeOf(r.set(ctx, run, out))
	}

	if problems := r.crowd(run, 1); len(problems) > 0 {
		return outcomeOf([]Run{r.hold(out, problems)})
	}

	return outcomeOf([]Run{r.render(ctx, run, out, r.data)})
}

// decide whether a run is wanted. It is decided (true) when it is not, or when
// that cannot be known yet.
func (r *rendering) decide(ctx context.Context, run *run, out Run, data expression.Data) (Run, bool) {
	if out, ok := r.await(ctx, run, out, data, run.when.Runs(), run.when); ok {
		return out, true
	}

	wanted, problems := run.wanted(ctx, data)
	if len(problems) > 0 {
		return r.hold(out, problems), true
	}

	out.Reason = Skipped

	return out, !wanted
}

// await what templates of a run refer to, other runs that it needs among them. It is
// decided (true) when something is not there, or not ready.
func (r *rendering) await(ctx context.Context, run *run, out Run, data expression.Data, needs map[string]bool, templates ...*expression.Template) (Run, bool) {
	if out, ok := r.without(run, out, data, templates...); ok {
		return out, true
	}

	names, problems := r.refersTo(ctx, data, templates...)

	if waiting := append(r.unready(run, needs, data), r.unavailable(names)...); len(waiting) > 0 {
		return r.wait(out, waiting), true
	}

	if problems = append(problems, r.lacks(templates...)...); len(problems) > 0 {
		return r.hold(out, problems), true
	}

	return out, false
}

// render a run that is wanted.
func (r *rendering) render(ctx context.Context, run *run, out Run, data expression.Data) Run {
	names, problems := r.refersTo(ctx, data, run.uses...)
	if len(problems) == 0 {
		r.refers[out.Resource] = names
	}

	if out, ok := r.await(ctx, run, out, data, run.needs, run.templates...); ok {
		return out
	}

	object, ps := r.object(ctx, run, out.Resource, data)
	problems = slices.Concat(problems, ps, r.moved(out.Resource, object), r.unheld(run, names))

	if len(problems) > 0 {
		return r.hold(out, problems)
	}

	if _, ok := r.observed.Resources[out.Resource]; !ok {
		r.arriving = true

		if before := r.predecessors(out.Resource); len(before) > 0 {
			return r.wait(out, before)
		}
	}

	out.Desired = object
	out.Reason, out.Messages = describe(r.observed.Resources[out.Resource], r.observed.Owned[out.Resource], object, r.observed.reported(out.Name))

	if out.Reason == Ready && run.readyWhen != nil {
		return r.ready(ctx, run, out, data)
	}

	return out
}

// ready asks what the Composition has a run be ready by, whose AnsibleRun is. A
// value that is missing is not there yet.
func (r *rendering) ready(ctx context.Context, run *run, out Run, data expression.Data) Run {
	var self any = view(r.observed.Resources[out.Resource])
	if key, ok := run.key(out.Resource); ok && run.each != nil {
		self = map[string]any{key: self}
	}

	data.Runs = maps.Clone(data.Runs)
	data.Runs[run.name] = self
	// What they say of this run is not what they say to others.
	data.Locals = r.composition.locals.For(data)

	v, _, problems := run.readyWhen.Evaluate(ctx, data)
	if len(problems) == 0 && v == true {
		return out
	}

	out.Reason = NotReady

	for _, p := range problems {
		out.Messages = append(out.Messages, p.String())
	}

	if len(problems) == 0 {
		out.Messages = []string{"is not ready yet: readyWhen is " + manifest.Show(v)}
	}

	return out
}

// lacks says which required resources templates cannot be without, and are not
// there.
func (r *rendering) lacks(templates ...*expression.Template) []expression.Problem {
	var problems []expression.Problem

	said := map[string]bool{}

	for _, t := range templates {
		needs := t.Required()
		for _, name := range manifest.SortedKeys(needs) {
			if needs[name] && !said[name] {
				problems = append(problems, r.missing[name]...)
				said[name] = true
			}
		}
	}

	return problems
}

// without decides (true) about a run that templates do not let be without another
// one, which is not wanted. One that exists is held: only its own when, its own key
// and the Composition remove it.
func (r *rendering) without(run *run, out Run, data expression.Data, templates ...*expression.Template) (Run, bool) {
	for _, t := range templates {
		needs := t.Runs()

		for _, name := range manifest.SortedKeys(needs) {
			if !needs[name] || !r.on(run, name, data).skipped {
				continue
			}

			if !r.exists(run, out.Resource) {
				out.Reason = Skipped
				out.Messages = []string{"not wanted, for it refers to " + name + ", which is not wanted"}

				return out, true
			}

			what, optional := name, "runs.?"+name
			if run.pairs[name] {
				what, optional = fmt.Sprintf("%s[%q]", name, data.Each["key"]), "runs."+name+"[?each.key]"
			}

			return r.hold(out, []expression.Problem{{
				Path: t.PathTo(name),
				Kind: expression.NotSet,
				Message: "runs." + what + " is not wanted any more; it stays as it is: to do without, write " + optional +
					" and what else it may be, and to remove it, too, give it the same when",
			}}), true
		}
	}

	return out, false
}

// exists is true for a run that was observed, and for a set with any member that
// was.
func (r *rendering) exists(run *run, resource string) bool {
	if _, ok := r.observed.run(resource); ok || run.each == nil || resource != run.resource {
		return ok
	}

	return slices.ContainsFunc(manifest.SortedKeys(r.observed.Resources), func(name string) bool {
		_, observed := r.observed.run(name)
		return observed && r.composition.run(name) == run
	})
}

// wanted evaluates when.
func (run *run) wanted(ctx context.Context, data expression.Data) (bool, []expression.Problem) {
	v, ok, problems := run.when.Evaluate(ctx, data)
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
func (r *rendering) unready(run *run, needs map[string]bool, data expression.Data) []string {
	var names []string

	for _, name := range manifest.SortedKeys(needs) {
		on := r.on(run, name, data)
		if on.done() {
			continue
		}

		if run.pairs[name] && len(on.runs) == 1 {
			name = on.runs[0].Name
		}

		names = append(names, name)
	}

	return names
}

// object renders the AnsibleRun.
func (r *rendering) object(ctx context.Context, run *run, resource string, data expression.Data) (map[string]any, []expression.Problem) {
	var problems []expression.Problem

	p := parts{dependsOn: r.dependsOn(run, resource, data), composite: r.observed.uid()}
	p.vars, p.unsafe, problems = run.evaluate(ctx, data)

	if run.inventory != nil {
		text, ps := run.inventory.evaluate(ctx, data)
		problems = append(problems, ps...)
		p.inventory = text
	}

	object, ps := run.object.evaluate(ctx, data)
	problems = append(problems, ps...)

	return object.with(p), problems
}

// dependsOn returns the composition resource names of what a run is rendered after:
// runs, those that it can do without only while they are wanted, and what other
// steps compose.
func (r *rendering) dependsOn(run *run, resource string, data expression.Data) []string {
	var resources []string

	key, _ := data.Each["key"].(string)

	for _, on := range r.composition.runs {
		if _, ok := run.needs[on.name]; !ok || r.on(run, on.name, data).skipped {
			continue
		}

		resources = append(resources, r.entries(run, on, key)...)
	}

	for name := range r.refers[resource] {
		if _, ok := r.data.Resources[name]; ok {
			resources = append(resources, name)
		}
	}

	slices.Sort(resources)

	return slices.Compact(resources)
}

// entries of another run in AnnotationDependsOn of this one, or of its member with a
// key: by what core calls it, which tells what it is when its run is gone.
func (r *rendering) entries(run, on *run, key string) []string {
	entry := run.entry(on, key)
	if !strings.HasSuffix(entry, allMembers) {
		return []string{r.calls(entry)}
	}

	entries := []string{entry}

	for resource, was := range r.called {
		if !on.makes(resource) {
			continue
		}

		if set, _, ok := member(was); ok {
			was = set + allMembers
		}

		entries = append(entries, was)
	}

	return entries
}

// moved reports a run that is to be somewhere else than it is, or where something
// else is: core would apply it there, and forget the one that is.
func (r *rendering) moved(resource string, object map[string]any) []expression.Problem {
	observed, ok := r.observed.Resources[resource]
	if !ok {
		return nil
	}

	if !isAnsibleRun(observed) {
		return []expression.Problem{{Path: "resourceName", Kind: expression.Invalid, Message: "the XR has a " + manifest.Text(observed, "kind") + " of this name; give the run another one"}}
	}

	group, _, _ := strings.Cut(manifest.Text(object, "apiVersion"), "/")
	was, _, _ := strings.Cut(manifest.Text(observed, "apiVersion"), "/")

	namespace := manifest.Namespace(object)
	lives := manifest.Namespace(observed)

	if group == was && (namespace == "" || namespace == lives) {
		return nil
	}

	return []expression.Problem{{Path: "scope", Kind: expression.Invalid, Message: "a run cannot move to another scope or namespace: one of another resourceName would be created, and this one removed with what it has made; take Delete out of its managementPolicies first"}}
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
	o, ok := r.observed.run(out.Resource)
	if !ok {
		return out
	}

	out.Desired = applied(o, r.observed.Owned[out.Resource])

	if uid := r.observed.uid(); uid != "" {
		out.Desired = manifest.Overlay(out.Desired, map[string]any{"metadata": map[string]any{"labels": map[string]any{LabelComposite: uid}}})
	}

	return out
}
