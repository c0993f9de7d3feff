package desired

import (
	"context"
	"maps"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// renderSet renders the members of a set, one for each item. out is the outcome for the set itself, which is used when
// the items are unknown.
func (r *renderer) renderSet(ctx context.Context, run *plan.Run, out Outcome) []Outcome {
	needs := map[string]bool{}
	for _, t := range run.ForEach.Templates() {
		maps.Copy(needs, t.Runs())
	}

	if out, ok := r.await(ctx, run, out, r.Data, needs, run.ForEach.Templates()...); ok {
		return r.withMembers(run, out)
	}

	items, meant, problems := run.ForEach.Evaluate(ctx, r.Data)
	if len(problems) == 0 && len(items) == 0 && r.exists(run, run.Name) {
		problems = r.missingItems(ctx, run.ForEach.Items, meant)
	}

	if len(problems) > 0 {
		return r.withMembers(run, r.Hold(out, problems))
	}

	if problems := r.limitUsages(run, len(items)); len(problems) > 0 {
		return r.withMembers(run, r.Hold(out, problems))
	}

	runs, names := make([]Outcome, 0, len(items)), make(map[string]bool, len(items))
	for _, i := range items {
		names[plan.MemberName(run.Name, i.Key)] = true
	}

	for _, i := range items {
		one := Outcome{Name: plan.MemberName(run.Name, i.Key), Resource: plan.MemberName(run.Name, i.Key)}
		data := i.DataWith(r.Data)

		if problems := r.adopt(ctx, run, one.Resource, data, names); len(problems) > 0 {
			runs = append(runs, r.Hold(one, problems))
			continue
		}

		if run.WhenPerItem() {
			if decided, ok := r.decide(ctx, run, one, data); ok {
				runs = append(runs, decided)
				continue
			}
		}

		runs = append(runs, r.render(ctx, run, one, data))
	}

	return runs
}

// missingItems returns the problem of a set without items because a value in forEach is missing. It returns none if
// forEach is an empty list on purpose (meant). An empty list removes all members; a missing value never does, even if
// the expression has a default.
func (r *renderer) missingItems(ctx context.Context, items *expression.Template, meant bool) []expression.Problem {
	what := "the list"

	for _, path := range items.Defaulted() {
		if !r.Data.Has(ctx, path) {
			what, meant = strings.Join(path, "."), false
			break
		}
	}

	if meant {
		return nil
	}

	return []expression.Problem{{
		Path: "forEach", Kind: expression.NotSet,
		Message: what +
			" is not there, so that the set stays as it is; a list that is empty removes its members, and so does when: false",
	}}
}

// withMembers returns the outcome of a run. For a set that is not skipped, it adds outcomes for all observed members,
// which have the same reason and stay as they are.
func (r *renderer) withMembers(run *plan.Run, out Outcome) []Outcome {
	runs := []Outcome{out}
	if run.ForEach == nil || out.Reason == Skipped {
		return runs
	}

	if run.PreviousNames != nil {
		r.Unresolved[run] = true
	}

	for _, resource := range manifest.SortedKeys(r.Observed.Resources) {
		o, observed := r.Observed.Run(resource)

		key, ok := run.Key(resource)
		if !ok { // The resource may be an adopted member.
			key, ok = run.Key(manifest.Annotation(o, ansiblerun.AnnotationRun))
		}

		if ok && observed {
			runs = append(runs, r.Keep(Outcome{Name: plan.MemberName(run.Name, key), Resource: resource, Reason: out.Reason}))
		}
	}

	return runs
}
