package render

import (
	"context"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// requirements evaluates what core is to fetch, and says of that which is not
// there why.
func (r *renderer) requirements(ctx context.Context) map[string]Requirement {
	all := map[string]Requirement{}
	r.missing = map[string][]expression.Problem{}

	if _, ok := r.Observed.Required[requirementWatched]; !ok && !declared(r.plan.required, watched) {
		r.missing[watched] = []expression.Problem{{
			Path: "required." + watched, Kind: expression.Pending, Message: "there is nothing watched: the Operation was not made by a WatchOperation",
		}}
	}

	for _, req := range r.plan.required {
		if problems := r.missingFor(req.template()); len(problems) > 0 {
			r.missing[req.name] = problems
			continue
		}

		out, ok, problems := req.evaluate(ctx, r.Data)
		if len(problems) > 0 {
			r.missing[req.name] = problems
		}

		if !ok || len(problems) > 0 {
			continue
		}

		if req.pinned {
			out.Namespace = manifest.Namespace(r.Observed.XR)
		}

		all[req.name] = out

		if found, answered := r.Observed.Required[req.name]; answered && len(found) == 0 && out.MatchName != "" {
			r.missing[req.name] = []expression.Problem{{Path: "required." + req.name, Kind: expression.Pending, Message: "there is no " + out.String()}}
		}
	}

	return all
}

// viewRequired returns what expressions see of required resources: those that
// core has found. Lists are in the order of their names.
func viewRequired(c *Plan, answers map[string][]map[string]any) map[string]any {
	v := map[string]any{}

	if found := answers[requirementWatched]; len(found) > 0 {
		v[watched] = viewObject(found[0])
	}

	for _, r := range c.required {
		found, ok := answers[r.name]

		switch {
		case !ok:
		case r.matchLabels == nil && len(found) > 0:
			v[r.name] = viewObject(found[0])
		case r.matchLabels != nil:
			found = slices.SortedFunc(slices.Values(found), func(a, b map[string]any) int {
				return strings.Compare(manifest.NamespacedName(a), manifest.NamespacedName(b))
			})

			list := make([]any, len(found))
			for i := range found {
				list[i] = viewObject(found[i])
			}

			v[r.name] = list
		}
	}

	return v
}
