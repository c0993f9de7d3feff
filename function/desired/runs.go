// Package desired renders the AnsibleRuns of a Plan for an XR, in the order of their dependencies. The AnsibleRun of a
// run that cannot be rendered stays as it is observed.
package desired

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/observed"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// Runs are the rendered AnsibleRuns of an XR, with data for the later stages.
type Runs struct {
	// Outcomes has the outcome of each run after those of its dependencies.
	Outcomes []Outcome
	// Instances are the same outcomes by the name of the run in the plan.
	Instances map[string]Instances
	// Requirements are the selectors of required resources by name.
	Requirements map[string]*fnv1.ResourceSelector
	// Observed is the observed state. Adopted AnsibleRuns are in it under their current names.
	Observed observed.State
	// Data is the data for expressions, without each.
	Data expression.Data
	// Terminating are the AnsibleRuns of the XR that are being deleted. It is empty when this request does not have
	// them.
	Terminating []map[string]any
	// Predecessors are the AnsibleRuns of earlier XRs with the same name. It is empty when this request does not have
	// them.
	Predecessors []map[string]any
	// Creating is true when an AnsibleRun is to be created, or is lost, see observed.Resource.
	Creating bool
	// References are the resources of other steps that each rendered run refers to, both by composition resource name.
	// A resource is true when the run needs it.
	References map[string]map[string]bool
	// Renamed has the previous composition resource names of adopted AnsibleRuns, which core knows, by the current
	// ones.
	Renamed map[string]string
	// Unresolved are the runs with unknown previous names.
	Unresolved map[*plan.Run]bool
}

// Instances are the outcomes of a run of the plan: one, or those of the members of a set.
type Instances []Outcome

// Unwanted is true when all outcomes are Skipped, and there is at least one.
func (o Instances) Unwanted() bool {
	return len(o) > 0 && !slices.ContainsFunc(o, func(r Outcome) bool { return r.Reason != Skipped })
}

// Done is true when no dependent has to wait for any of the instances.
func (o Instances) Done() bool {
	return !slices.ContainsFunc(o, func(r Outcome) bool { return !r.Done() })
}

// A renderer renders the runs of a plan into Runs, one after the other.
type renderer struct {
	Runs

	plan *plan.Plan
	// byName has the outcomes so far by Outcome.Name.
	byName map[string]Outcome
	// missing has the reasons why required resources are missing, by their names.
	missing map[string][]expression.Problem
	// previousNames are the previous names of composed resources, by their current names.
	previousNames map[string][]string
	// usageCount is the number of Usages for the runs so far.
	usageCount int
}

// Render renders the AnsibleRuns of a plan for an observed state. It has no error: a problem of a run is the Reason of
// its Outcome.
func Render(ctx context.Context, p *plan.Plan, state observed.State) Runs {
	r := &renderer{
		plan:          p,
		byName:        map[string]Outcome{},
		previousNames: map[string][]string{},
		Runs: Runs{
			Observed: state,
			Data: expression.Data{
				XR:          observed.ViewXR(state.XR),
				Runs:        map[string]any{},
				Required:    viewRequired(p, state.Required),
				Resources:   viewResources(p, state),
				Environment: state.Environment(),
				Context:     state.Context,
				Budget:      &expression.Budget{},
			},
			Instances:    map[string]Instances{},
			Terminating:  state.Terminating(),
			Predecessors: state.Predecessors(),
			Creating:     state.HasLost(),
			References:   map[string]map[string]bool{},
			Renamed:      map[string]string{},
			Unresolved:   map[*plan.Run]bool{},
		},
	}
	r.Data.Locals = p.Locals.For(r.Data)
	r.Requirements = r.requirements(ctx)

	for _, run := range p.Runs {
		instances := r.instancesFor(ctx, run)
		r.Instances[run.Name] = instances
		r.Outcomes = append(r.Outcomes, instances...)

		for _, out := range instances {
			r.byName[out.Name] = out
		}

		r.addRunData(run, instances)
	}

	return r.Runs
}

// dependency returns the instances of another run that a run depends on: with SameKey, the member with the key in data,
// and otherwise all.
func (r *renderer) dependency(run *plan.Run, name string, data expression.Data) Instances {
	out := r.Instances[name]

	key, ok := data.Each["key"].(string)
	if !ok || !run.SameKey[name] {
		return out
	}

	if m, ok := r.byName[plan.MemberName(name, key)]; ok {
		return Instances{m}
	}

	// If the items are unknown, the first outcome is that of the set itself.
	if len(out) > 0 && out[0].Name == name {
		return out[:1]
	}

	return nil
}

// addRunData adds the observed AnsibleRuns of a run to the data for expressions of later runs. An unwanted run is left
// out.
func (r *renderer) addRunData(run *plan.Run, out Instances) {
	if out.Unwanted() || !run.Referenced {
		return
	}

	if run.ForEach == nil {
		if o, ok := r.Observed.Run(run.Name); ok {
			r.Data.Runs[run.Name] = observed.ViewRun(o)
		}

		return
	}

	set := map[string]any{}

	for _, m := range out {
		key, member := run.Key(m.Resource)
		if o, ok := r.Observed.Run(m.Resource); ok && member && m.Reason != Skipped {
			set[key] = observed.ViewRun(o)
		}
	}

	r.Data.Runs[run.Name] = set
}

// instancesFor returns the outcomes of a run. Its dependencies have theirs already.
func (r *renderer) instancesFor(ctx context.Context, run *plan.Run) Instances {
	out := Outcome{Name: run.Name, Resource: run.Name}

	if run.ForEach == nil {
		if problems := r.adopt(ctx, run, run.Name, r.Data, nil); len(problems) > 0 {
			return Instances{r.Hold(out, problems)}
		}
	}

	if !run.WhenPerItem() {
		if decided, ok := r.decide(ctx, run, out, r.Data); ok {
			return r.withMembers(run, decided)
		}
	}

	if run.ForEach != nil {
		return r.renderSet(ctx, run, out)
	}

	if problems := r.limitUsages(run, 1); len(problems) > 0 {
		return Instances{r.Hold(out, problems)}
	}

	return Instances{r.render(ctx, run, out, r.Data)}
}

// decide evaluates when. It returns true with the final outcome if the run is not wanted, or if when cannot be
// evaluated yet.
func (r *renderer) decide(ctx context.Context, run *plan.Run, out Outcome, data expression.Data) (Outcome, bool) {
	if out, ok := r.await(ctx, run, out, data, run.When.Runs(), run.When); ok {
		return out, true
	}

	wanted, problems := run.Wanted(ctx, data)
	if len(problems) > 0 {
		return r.Hold(out, problems), true
	}

	out.Reason = Skipped

	return out, !wanted
}

// await checks the runs and resources that templates of a run refer to. It returns true with the final outcome if one
// of them is missing or not ready.
func (r *renderer) await(ctx context.Context, run *plan.Run, out Outcome, data expression.Data, needs map[string]bool,
	templates ...*expression.Template,
) (Outcome, bool) {
	if out, ok := r.withoutDependency(run, out, data, templates...); ok {
		return out, true
	}

	names, problems := r.plan.ResourcesOf(ctx, data, templates...)

	if waiting := append(r.unready(run, needs, data), r.Unavailable(names)...); len(waiting) > 0 {
		return r.Wait(out, waiting), true
	}

	if problems = append(problems, r.missingFor(templates...)...); len(problems) > 0 {
		return r.Hold(out, problems), true
	}

	return out, false
}

// render returns the outcome of a wanted run, or of a wanted member of a set.
func (r *renderer) render(ctx context.Context, run *plan.Run, out Outcome, data expression.Data) Outcome {
	names, problems := r.plan.ResourcesOf(ctx, data, run.Uses...)
	if len(problems) == 0 {
		r.References[out.Resource] = names
	}

	// An AnsibleRun that is being deleted keeps its values: its content removes what it has created with them.
	if was, ok := r.Observed.Run(out.Resource); ok && manifest.IsDeleted(was) {
		out.Reason, out.Messages = reasonOf(observed.Resource{Object: was}, nil)
		return r.Keep(out)
	}

	if out, ok := r.await(ctx, run, out, data, run.Needs, run.Templates...); ok {
		return out
	}

	object, ps := r.object(ctx, run, out.Resource, data)
	problems = slices.Concat(problems, ps, r.relocated(out.Resource, object), r.unprotected(run, names))

	if len(problems) > 0 {
		return r.Hold(out, problems)
	}

	if _, ok := r.Observed.Resources[out.Resource]; !ok {
		r.Creating = true

		if before := r.terminatingAs(out.Resource); len(before) > 0 {
			return r.Wait(out, before)
		}
	}

	was := r.Observed.Resources[out.Resource]
	rendered := ansiblerun.KeepDependsOn(object, was.Object)
	out.Reason, out.Messages = reasonOf(was, rendered)

	// A former dependency stays in the annotation until the run is ready without it.
	if out.Desired = rendered; out.Reason == Ready {
		out.Desired = object
	}

	// AnnotationRun is added after reasonOf, so that a rename alone does not count as a change.
	if r.PreviousName(out.Resource) != out.Resource {
		out.Desired = manifest.Overlay(out.Desired, map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{ansiblerun.AnnotationRun: out.Resource}},
		})
	}

	if out.Reason == Ready && run.ReadyWhen != nil {
		return r.evaluateReadyWhen(ctx, run, out, data)
	}

	return out
}

// evaluateReadyWhen returns the outcome of a run with a ready AnsibleRun: NotReady unless readyWhen is true.
func (r *renderer) evaluateReadyWhen(ctx context.Context, run *plan.Run, out Outcome, data expression.Data) Outcome {
	var self any = observed.ViewRun(r.Observed.Resources[out.Resource].Object)
	if key, ok := run.Key(out.Resource); ok && run.ForEach != nil {
		self = map[string]any{key: self}
	}

	data.Runs = maps.Clone(data.Runs)
	data.Runs[run.Name] = self
	// In readyWhen, locals see this run, too.
	data.Locals = r.plan.Locals.For(data)

	v, _, problems := run.ReadyWhen.Evaluate(ctx, data)
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

// missingFor returns the problems of the missing required resources that templates need.
func (r *renderer) missingFor(templates ...*expression.Template) []expression.Problem {
	var problems []expression.Problem

	reported := map[string]bool{}

	for _, t := range templates {
		needs := t.Required()
		for _, name := range manifest.SortedKeys(needs) {
			if needs[name] && !reported[name] {
				problems = append(problems, r.missing[name]...)
				reported[name] = true
			}
		}
	}

	return problems
}

// withoutDependency returns true with the final outcome of a run if its templates need a run that is not wanted. A new
// run is skipped. An existing AnsibleRun is held, since only its own when, its own key or its absence from the
// Composition may remove it.
func (r *renderer) withoutDependency(run *plan.Run, out Outcome, data expression.Data,
	templates ...*expression.Template,
) (Outcome, bool) {
	for _, t := range templates {
		needs := t.Runs()

		for _, name := range manifest.SortedKeys(needs) {
			if !needs[name] || !r.dependency(run, name, data).Unwanted() {
				continue
			}

			if !r.exists(run, out.Resource) {
				out.Reason = Skipped
				out.Messages = []string{"not wanted, for it refers to " + name + ", which is not wanted"}

				return out, true
			}

			what, optional := name, "runs.?"+name
			if run.SameKey[name] {
				what, optional = fmt.Sprintf("%s[%q]", name, data.Each["key"]), "runs."+name+"[?each.key]"
			}

			return r.Hold(out, []expression.Problem{{
				Path: t.Path,
				Kind: expression.NotSet,
				Message: "runs." + what + " is not wanted any more; it stays as it is: to do without, write " + optional +
					" and what else it may be, and to remove it, too, give it the same when",
			}}), true
		}
	}

	return out, false
}

// exists is true if the AnsibleRun of a composed resource is observed. For the name of a set, it is true if an
// AnsibleRun is observed that may be a member.
func (r *renderer) exists(run *plan.Run, resource string) bool {
	if _, ok := r.Observed.Run(resource); ok || run.ForEach == nil || resource != run.Name {
		return ok
	}

	return slices.ContainsFunc(manifest.SortedKeys(r.Observed.Resources), func(name string) bool {
		_, observed := r.Observed.Run(name)
		return observed && r.plan.MayBelong(run, name)
	})
}

// unready returns the names of the needed runs for which a run has to wait.
func (r *renderer) unready(run *plan.Run, needs map[string]bool, data expression.Data) []string {
	var names []string

	for _, name := range manifest.SortedKeys(needs) {
		on := r.dependency(run, name, data)
		if on.Done() {
			continue
		}

		if run.SameKey[name] && len(on) == 1 {
			name = on[0].Name
		}

		names = append(names, name)
	}

	return names
}

// relocated returns a problem for a run with another scope or namespace than its observed AnsibleRun, or with the name
// of a composed resource of another kind. Core would create a new object and lose track of the observed one.
func (r *renderer) relocated(resource string, object map[string]any) []expression.Problem {
	observed := r.Observed.Resources[resource].Object
	if observed == nil {
		return nil
	}

	if !ansiblerun.Is(observed) {
		return []expression.Problem{
			{
				Path: "name", Kind: expression.Invalid,
				Message: "the XR has a " + manifest.Text(observed, "kind") + " of this name; give the run another one",
			},
		}
	}

	group, _, _ := strings.Cut(manifest.Text(object, "apiVersion"), "/")
	observedGroup, _, _ := strings.Cut(manifest.Text(observed, "apiVersion"), "/")
	namespace := manifest.Namespace(object)

	if group == observedGroup && (namespace == "" || namespace == manifest.Namespace(observed)) {
		return nil
	}

	return []expression.Problem{
		{
			Path: "namespace", Kind: expression.Invalid,
			Message: "a run cannot move to another scope or namespace: one of another name would be created, and this " +
				"one removed with what it has made; give it onDelete: {policy: Keep} first",
		},
	}
}

// Wait returns the outcome of a run that waits for runs or resources.
func (r Runs) Wait(out Outcome, names []string) Outcome {
	out.Reason = DependencyNotReady
	out.Messages = []string{ansiblerun.WaitingFor + strings.Join(names, ", ")}

	return r.Keep(out)
}

// Hold returns the outcome of a run with problems. The kind of problem that is last in this list is the reason.
func (r Runs) Hold(out Outcome, problems []expression.Problem) Outcome {
	for _, kind := range []expression.Kind{
		expression.Pending, expression.Withheld, expression.NotSet, expression.Invalid,
	} {
		for _, p := range problems {
			if p.Kind == kind {
				out.Reason = Reason(kind)
			}
		}
	}

	for _, p := range problems {
		out.Messages = append(out.Messages, p.String())
	}

	return r.Keep(out)
}

// Keep returns the outcome of an AnsibleRun that stays as it is: Desired is what core has applied before. It is nil if
// no AnsibleRun is observed.
func (r Runs) Keep(out Outcome) Outcome {
	if _, ok := r.Observed.Run(out.Resource); !ok {
		return out
	}

	out.Desired = r.Observed.Resources[out.Resource].Again()

	if uid := r.Observed.UID(); uid != "" {
		out.Desired = manifest.Overlay(out.Desired,
			map[string]any{"metadata": map[string]any{"labels": map[string]any{ansiblerun.LabelComposite: uid}}})
	}

	return out
}
