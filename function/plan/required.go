package plan

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane/function-sdk-go/errors"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// Selector returns a selector of resources in a namespace; in all namespaces if it is empty.
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
	// Namespace is the namespace of the resources; empty for all namespaces.
	Namespace string
	// Selector is the name of one resource or, with ByLabels, the labels of any number of resources.
	Selector *expression.Template
	ByLabels bool
	// Pinned is true for resources that are fetched only from the XR's own namespace, since the XR selects them.
	Pinned bool
}

// Evaluate returns the selector that core fetches for an XR in a namespace; nil when the Selector is optional.none().
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

	// An empty set of labels would select all resources.
	if len(labels) == 0 {
		problems = append(problems,
			expression.InvalidAt(path+".matchLabels", errors.New("no label is set, and all resources would match")))
	}

	out.Match = &fnv1.ResourceSelector_MatchLabels{MatchLabels: matched}

	return out, problems
}

const (
	// Watched is the name, in expressions, of the resource for which a WatchOperation has created the Operation:
	// required.watched.
	Watched = "watched"
	// RequirementWatched is the name of this resource in a request. Source: RequirementNameWatchedResource in the API
	// of Operations.
	RequirementWatched = "ops.crossplane.io/watched-resource"
)
