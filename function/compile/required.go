package compile

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansible"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// requiredName matches valid names of required resources.
var requiredName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// requiredNames returns the names of the required resources: true for lists, which are selected by labels.
func requiredNames(all map[string]v1alpha1.RequiredResource) map[string]bool {
	names := make(map[string]bool, len(all))
	for name, r := range all {
		names[name] = r.MatchLabels != nil
	}

	return names
}

// required compiles the required resources, each after those that it refers to.
func (c compiler) required(all map[string]v1alpha1.RequiredResource, namespaced bool) []plan.RequiredResource {
	var out []plan.RequiredResource

	for _, name := range manifest.SortedKeys(all) {
		path := field.NewPath("requiredResources").Child(name)
		r := c.requiredResource(path, all[name], namespaced)
		r.Name = name
		out = append(out, r)

		if err := ansible.CheckWord(name); err != nil {
			c.add(field.Forbidden(path, err.Error()))
		} else if !requiredName.MatchString(name) || name == "in" || name == "null" {
			c.add(field.Invalid(path, name,
				"the name of a required resource must be letters and digits, as in required.network"))
		}
	}

	return c.orderRequired(out)
}

func (c compiler) requiredResource(path *field.Path, v v1alpha1.RequiredResource,
	namespaced bool,
) plan.RequiredResource {
	r := plan.RequiredResource{
		APIVersion: v.APIVersion, Kind: v.Kind, Namespace: v.Namespace,
		Selector: &expression.Template{},
		ByLabels: v.MatchLabels != nil,
	}

	literal := map[string]string{"apiVersion": v.APIVersion, "kind": v.Kind, "namespace": v.Namespace}
	for _, name := range manifest.SortedKeys(literal) {
		if strings.Contains(literal[name], "${") {
			c.add(field.Invalid(path.Child(name), literal[name], "this field is literal, it cannot hold an expression"))
		}
	}

	if r.ByLabels == (v.MatchName != "") {
		c.add(field.Required(path, "exactly one of matchName and matchLabels must be set"))
		return r
	}

	at := path.Child("matchName")

	if r.ByLabels {
		at = path.Child("matchLabels")
		r.Selector = c.compile(at, manifest.Strings(v.MatchLabels))
	} else {
		r.Selector = c.compile(at, v.MatchName, expression.String)
	}

	for _, k := range manifest.SortedKeys(r.Selector.Fields) {
		c.typed(at.Key(k), r.Selector.Fields[k], expression.String)
	}

	if len(r.Selector.Runs()) > 0 {
		c.add(field.Forbidden(at, "what is required cannot depend on runs"))
	}

	if !r.Selector.Computed {
		return r
	}

	r.Pinned = namespaced

	switch {
	case r.Namespace != "":
		c.add(field.Forbidden(path.Child("namespace"),
			"what an expression selects is in the XR's own namespace, or cluster scoped"))
	case !namespaced && r.ByLabels:
		c.add(field.Forbidden(at, "a cluster-scoped XR cannot compute labels, which would select from all namespaces"))
	}

	return r
}

// orderRequired sorts required resources so that each comes after those that it refers to. It reports cycles, and
// chains that are too long.
func (c compiler) orderRequired(all []plan.RequiredResource) []plan.RequiredResource {
	// Core calls a step again at most five times: once for each resource in a chain, and once for the AnsibleRuns of
	// the XR.
	const maxDepth = 4

	path := field.NewPath("requiredResources")

	// Unlike required resources, required.watched is in the first request already.
	out, cycles := inOrder(all, func(r plan.RequiredResource) (string, map[string]bool) {
		return r.Name, r.Selector.Required()
	})
	for _, cycle := range cycles {
		c.add(field.Invalid(path.Child(cycle[0]), strings.Join(cycle, " → "),
			"a required resource cannot depend on itself, directly or through others"))
	}

	depth := map[string]int{}

	for _, r := range out {
		for on := range r.Selector.Required() {
			depth[r.Name] = max(depth[r.Name], depth[on])
		}

		if depth[r.Name]++; depth[r.Name] > maxDepth {
			c.add(field.Invalid(path.Child(r.Name), r.Name,
				"required resources can depend on each other three times in a row at most"))
		}
	}

	return out
}
