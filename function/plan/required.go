package plan

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A Requirement selects resources that core is to fetch.
type Requirement struct {
	APIVersion, Kind string
	// Namespace of the resources; "" for all that there are.
	Namespace string
	// MatchName selects one resource. If it is empty, MatchLabels select any
	// number.
	MatchName   string
	MatchLabels map[string]string
}

// String says which resource a requirement selects.
func (r Requirement) String() string {
	s := r.Kind + " " + r.MatchName
	if r.Namespace != "" {
		s += " in namespace " + r.Namespace
	}

	return s
}

// A RequiredResource is a required resource of the input, compiled.
type RequiredResource struct {
	Requirement

	Name string
	// Selector is the name of the resource or, with ByLabels, the labels of any number.
	Selector *expression.Template
	ByLabels bool
	// Pinned resources are in the XR's own namespace, since it chooses them.
	Pinned bool
}

// Evaluate a requirement. There is none (false) when its value is
// optional.none().
func (r RequiredResource) Evaluate(ctx context.Context,
	data expression.Data,
) (Requirement, bool, []expression.Problem) {
	out := r.Requirement

	v, ok, problems := r.Selector.Evaluate(ctx, data)
	if !ok || len(problems) > 0 {
		return out, false, problems
	}

	path := "requiredResources." + r.Name

	if !r.ByLabels {
		name, ok := v.(string)
		if !ok || len(validation.IsDNS1123Subdomain(name)) > 0 {
			return out, false, []expression.Problem{
				expression.InvalidAt(path+".matchName", errors.Errorf("%s cannot be the name of an object", manifest.Show(v))),
			}
		}

		out.MatchName = name

		return out, true, nil
	}

	out.MatchLabels = map[string]string{}
	labels, _ := v.(map[string]any)

	for _, k := range manifest.SortedKeys(labels) {
		s, ok := labels[k].(string)
		if !ok || len(validation.IsValidLabelValue(s)) > 0 {
			problems = append(problems,
				expression.InvalidAt(path+".matchLabels."+k,
					errors.Errorf("%s cannot be the value of a label", manifest.Show(labels[k]))))
		}

		out.MatchLabels[k] = s
	}

	// No labels select everything.
	if len(labels) == 0 {
		problems = append(problems, expression.InvalidAt(path+".matchLabels", errors.New("no label is left to select by")))
	}

	return out, len(problems) == 0, problems
}

const (
	// Watched is what expressions call the resource that an Operation was made
	// for, as in required.watched.
	Watched = "watched"
	// RequirementWatched is what core calls it. Source: RequirementNameWatchedResource
	// of the API of Operations.
	RequirementWatched = "ops.crossplane.io/watched-resource"
)
