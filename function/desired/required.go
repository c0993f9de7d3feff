package desired

import (
	"context"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/observed"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// requirements returns the selectors of the required resources by name, and sets r.missing.
func (r *renderer) requirements(ctx context.Context) map[string]*fnv1.ResourceSelector {
	all := map[string]*fnv1.ResourceSelector{}
	r.missing = map[string][]expression.Problem{}

	// The loop below removes this problem if the input has a required resource with this name.
	if _, ok := r.Observed.Required[plan.RequirementWatched]; !ok {
		r.missing[plan.Watched] = []expression.Problem{{
			Path: "required." + plan.Watched, Kind: expression.Pending,
			Message: "there is nothing watched: the Operation was not made by a WatchOperation",
		}}
	}

	for _, req := range r.plan.Required {
		delete(r.missing, req.Name)

		problems := r.missingFor(req.Selector)

		var out *fnv1.ResourceSelector
		if len(problems) == 0 {
			out, problems = req.Evaluate(ctx, r.Data, manifest.Namespace(r.Observed.XR))
		}

		if len(problems) > 0 {
			r.missing[req.Name] = problems
		}

		// A resource with a withheld selector may exist: its value is unknown, and not missing.
		for _, p := range problems {
			if p.Kind == expression.Withheld {
				r.Data.Required[req.Name] = expression.Unknown("is not known: " + p.Message)
			}
		}

		if out == nil && len(problems) == 0 {
			// Core still sends the resource of an earlier selector.
			delete(r.Data.Required, req.Name)
		}

		if out == nil || len(problems) > 0 {
			continue
		}

		all[req.Name] = out

		if found, answered := r.Observed.Required[req.Name]; answered && len(found) == 0 && !req.ByLabels {
			message := "there is no " + out.GetKind() + " " + out.GetMatchName()
			if out.Namespace != nil {
				message += " in namespace " + out.GetNamespace()
			}

			r.missing[req.Name] = []expression.Problem{
				{Path: "required." + req.Name, Kind: expression.Pending, Message: message},
			}
		}
	}

	return all
}

// viewRequired returns the required resources that core has found, as expressions see them. Lists are sorted by
// namespace and name.
func viewRequired(p *plan.Plan, answers map[string][]map[string]any) map[string]any {
	v := map[string]any{}

	if found := answers[plan.RequirementWatched]; len(found) > 0 {
		v[plan.Watched] = observed.ViewObject(found[0])
	}

	for _, r := range p.Required {
		found, ok := answers[r.Name]

		switch {
		case !ok:
		case !r.ByLabels && len(found) > 0:
			v[r.Name] = observed.ViewObject(found[0])
		case r.ByLabels:
			found = slices.SortedFunc(slices.Values(found), func(a, b map[string]any) int {
				return strings.Compare(manifest.NamespacedName(a), manifest.NamespacedName(b))
			})

			list := make([]any, len(found))
			for i := range found {
				list[i] = observed.ViewObject(found[i])
			}

			v[r.Name] = list
		}
	}

	return v
}
