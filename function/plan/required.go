package plan

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane/function-sdk-go/errors"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// Selector of resources in a namespace; "" for all that there are.
func Selector(apiVersion, kind, namespace string) *fnv1.ResourceSelector {
	s := &fnv1.ResourceSelector{ApiVersion: apiVersion, Kind: kind}
	if namespace != "" {
		s.Namespace = &namespace
	}

	return s
}

// A RequiredResource is a required resource of the input, compiled.
type RequiredResource struct {
	Name, APIVersion, Kind string
	// Namespace of the resources; "" for all that there are.
	Namespace string
	// Selector is the name of the resource or, with ByLabels, the labels of any number.
	Selector *expression.Template
	ByLabels bool
	// Pinned resources are in the XR's own namespace, since it chooses them.
	Pinned bool
}

// Evaluate returns what core is to fetch for an XR of a namespace; nil when its value is optional.none().
func (r RequiredResource) Evaluate(ctx context.Context, data expression.Data,
	namespace string,
) (*fnv1.ResourceSelector, []expression.Problem) {
	v, ok, problems := r.Selector.Evaluate(ctx, data)
	if !ok || len(problems) > 0 {
		return nil, problems
	}

	if !r.Pinned {
		namespace = r.Namespace
	}

	out := Selector(r.APIVersion, r.Kind, namespace)

	path := "requiredResources." + r.Name

	if !r.ByLabels {
		name, ok := v.(string)
		if !ok || len(validation.IsDNS1123Subdomain(name)) > 0 {
			return nil, []expression.Problem{
				expression.InvalidAt(path+".matchName", errors.Errorf("%s cannot be the name of an object", manifest.Show(v))),
			}
		}

		out.Match = &fnv1.ResourceSelector_MatchName{MatchName: name}

		return out, nil
	}

	matched := &fnv1.MatchLabels{Labels: map[string]string{}}
	labels, _ := v.(map[string]any)

	for _, k := range manifest.SortedKeys(labels) {
		s, ok := labels[k].(string)
		if !ok || len(validation.IsValidLabelValue(s)) > 0 {
			problems = append(problems,
				expression.InvalidAt(path+".matchLabels."+k,
					errors.Errorf("%s cannot be the value of a label", manifest.Show(labels[k]))))
		}

		matched.Labels[k] = s
	}

	// No labels select everything.
	if len(labels) == 0 {
		problems = append(problems, expression.InvalidAt(path+".matchLabels", errors.New("no label is left to select by")))
	}

	out.Match = &fnv1.ResourceSelector_MatchLabels{MatchLabels: matched}

	return out, problems
}

const (
	// Watched is what expressions call the resource that an Operation was made
	// for, as in required.watched.
	Watched = "watched"
	// RequirementWatched is what core calls it. Source: RequirementNameWatchedResource
	// of the API of Operations.
	RequirementWatched = "ops.crossplane.io/watched-resource"
)
