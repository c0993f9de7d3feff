package compile

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// requiredName is what the name of a required resource looks like.
var requiredName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// requiredNames returns the names of the required resources: true for those that
// are lists.
func requiredNames(all map[string]v1alpha1.RequiredResource) map[string]bool {
	names := make(map[string]bool, len(all))
	for name, r := range all {
		names[name] = r.MatchLabels != nil
	}

	return names
}

// compileRequired resources, each after those that it refers to.
func compileRequired(env *expression.Environment, all map[string]v1alpha1.RequiredResource,
	namespaced bool,
) ([]plan.RequiredResource, field.ErrorList) {
	var (
		out  []plan.RequiredResource
		errs field.ErrorList
	)

	root := field.NewPath("requiredResources")

	for _, name := range manifest.SortedKeys(all) {
		r, rerrs := compileOne(env, root.Child(name), all[name], namespaced)
		r.Name = name
		errs = append(errs, rerrs...)
		out = append(out, r)

		if !requiredName.MatchString(name) || name == "in" || name == "true" || name == "false" || name == "null" {
			errs = append(errs,
				field.Invalid(root.Child(name), name,
					"the name of a required resource must be letters and digits, as in required.network"))
		}
	}

	ordered, oerrs := orderRequired(out)

	return ordered, append(errs, oerrs...)
}

func compileOne(env *expression.Environment, path *field.Path, v v1alpha1.RequiredResource,
	namespaced bool,
) (plan.RequiredResource, field.ErrorList) {
	r := plan.RequiredResource{
		Requirement: plan.Requirement{APIVersion: v.APIVersion, Kind: v.Kind, Namespace: v.Namespace},
		Selector:    &expression.Template{},
		ByLabels:    v.MatchLabels != nil,
	}

	var errs field.ErrorList

	for _, literal := range []struct{ name, value string }{
		{"apiVersion", v.APIVersion},
		{"kind", v.Kind},
		{"namespace", v.Namespace},
	} {
		if strings.Contains(literal.value, "${") {
			errs = append(errs,
				field.Invalid(path.Child(literal.name), literal.value, "this field is literal, it cannot hold an expression"))
		}
	}

	if r.ByLabels == (v.MatchName != "") {
		return r, append(errs, field.Required(path, "exactly one of matchName and matchLabels must be set"))
	}

	name, selector := "matchName", any(v.MatchName)
	if r.ByLabels {
		name, selector = "matchLabels", manifest.Strings(v.MatchLabels)
	}

	t, terrs := env.Compile(path.Child(name), selector)
	errs = append(errs, terrs...)

	r.Selector = t

	if !r.ByLabels {
		errs = append(errs, mistyped(path.Child(name), t, expression.String)...)
	}

	for _, k := range manifest.SortedKeys(t.Fields()) {
		errs = append(errs, mistyped(path.Child(name).Key(k), t.Fields()[k], expression.String)...)
	}

	if len(t.Runs()) > 0 {
		errs = append(errs, field.Forbidden(path.Child(name), "what is required cannot depend on runs"))
	}

	if !t.Computed() {
		return r, errs
	}

	r.Pinned = namespaced

	switch {
	case r.Namespace != "":
		errs = append(errs,
			field.Forbidden(path.Child("namespace"),
				"what an expression selects is in the XR's own namespace, or cluster scoped"))
	case !namespaced && r.ByLabels:
		errs = append(errs,
			field.Forbidden(path.Child(name),
				"a cluster-scoped XR cannot compute labels, which would select from all namespaces"))
	}

	return r, errs
}

// orderRequired sorts required resources such that each comes after those that
// it refers to.
func orderRequired(all []plan.RequiredResource) ([]plan.RequiredResource, field.ErrorList) {
	// Core calls again five times at most: with each resource of the chain, and at last with
	// the AnsibleRuns of the XR.
	const maxDepth = 4

	var out []plan.RequiredResource

	depth := map[string]int{}

	for len(out) < len(all) {
		before := len(out)

		for _, r := range all {
			if depth[r.Name] > 0 {
				continue
			}

			d := 1
			for on := range r.Selector.Required() {
				// Core brings that without being asked.
				if on == plan.Watched && !plan.Declared(all, plan.Watched) {
					continue
				}

				if depth[on] == 0 {
					d = 0
					break
				}

				d = max(d, depth[on]+1)
			}

			if d > 0 {
				depth[r.Name] = d
				out = append(out, r)
			}
		}

		if len(out) == before {
			break
		}
	}

	var errs field.ErrorList

	for _, r := range all {
		path := field.NewPath("requiredResources").Child(r.Name)

		switch d := depth[r.Name]; {
		case d == 0:
			errs = append(errs,
				field.Invalid(path, r.Name, "a required resource cannot depend on itself, directly or through others"))
		case d > maxDepth:
			errs = append(errs,
				field.Invalid(path, r.Name, "required resources can depend on each other three times in a row at most"))
		}
	}

	return out, errs
}
