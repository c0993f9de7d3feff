package compile

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// requiredName is what the name of a required resource looks like.
var requiredName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

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
	// One of these is set.
	matchName, MatchLabels *expression.Template
	// Pinned resources are in the XR's own namespace, since it chooses them.
	Pinned bool
}

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
func compileRequired(env *expression.Environment, all map[string]v1alpha1.RequiredResource, namespaced bool) ([]RequiredResource, field.ErrorList) {
	var (
		out  []RequiredResource
		errs field.ErrorList
	)

	root := field.NewPath("requiredResources")

	for _, name := range manifest.SortedKeys(all) {
		r, rerrs := compileOne(env, root.Child(name), all[name], namespaced)
		r.Name = name
		errs = append(errs, rerrs...)
		out = append(out, r)

		if !requiredName.MatchString(name) || name == "in" || name == "true" || name == "false" || name == "null" {
			errs = append(errs, field.Invalid(root.Child(name), name, "the name of a required resource must be letters and digits, as in required.network"))
		}
	}

	ordered, oerrs := orderRequired(out)

	return ordered, append(errs, oerrs...)
}

func compileOne(env *expression.Environment, path *field.Path, v v1alpha1.RequiredResource, namespaced bool) (RequiredResource, field.ErrorList) {
	r := RequiredResource{Requirement: Requirement{APIVersion: v.APIVersion, Kind: v.Kind, Namespace: v.Namespace}}

	var errs field.ErrorList

	for _, literal := range []struct{ name, value string }{{"apiVersion", v.APIVersion}, {"kind", v.Kind}, {"namespace", v.Namespace}} {
		if strings.Contains(literal.value, "${") {
			errs = append(errs, field.Invalid(path.Child(literal.name), literal.value, "this field is literal, it cannot hold an expression"))
		}
	}

	byName, byLabels := v.MatchName != "", v.MatchLabels != nil

	if byName == byLabels {
		return r, append(errs, field.Required(path, "exactly one of matchName and matchLabels must be set"))
	}

	name, selector := "matchName", any(v.MatchName)
	if byLabels {
		name, selector = "matchLabels", manifest.Strings(v.MatchLabels)
	}

	t, terrs := env.Compile(path.Child(name), selector)
	errs = append(errs, terrs...)

	if byLabels {
		r.MatchLabels = t
	} else {
		r.matchName = t
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
		errs = append(errs, field.Forbidden(path.Child("namespace"), "what an expression selects is in the XR's own namespace, or cluster scoped"))
	case !namespaced && byLabels:
		errs = append(errs, field.Forbidden(path.Child(name), "a cluster-scoped XR cannot compute labels, which would select from all namespaces"))
	}

	return r, errs
}

// orderRequired sorts required resources such that each comes after those that
// it refers to.
func orderRequired(all []RequiredResource) ([]RequiredResource, field.ErrorList) {
	// Core asks again five times at most.
	const maxDepth = 5

	var out []RequiredResource

	depth := map[string]int{}

	for len(out) < len(all) {
		before := len(out)

		for _, r := range all {
			if depth[r.Name] > 0 {
				continue
			}

			d := 1
			for on := range r.Template().Required() {
				// Core brings that without being asked.
				if on == Watched && !Declared(all, Watched) {
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
			errs = append(errs, field.Invalid(path, r.Name, "a required resource cannot depend on itself, directly or through others"))
		case d > maxDepth:
			errs = append(errs, field.Invalid(path, r.Name, "required resources can depend on each other four times in a row at most"))
		}
	}

	return out, errs
}

// Declared is true for the name of one of these required resources.
func Declared(all []RequiredResource, name string) bool {
	return slices.ContainsFunc(all, func(r RequiredResource) bool { return r.Name == name })
}

// Template of what selects the resource.
func (r RequiredResource) Template() *expression.Template {
	if r.MatchLabels != nil {
		return r.MatchLabels
	}

	if r.matchName != nil {
		return r.matchName
	}

	return &expression.Template{}
}

// Evaluate a requirement. There is none (false) when its value is
// optional.none().
func (r RequiredResource) Evaluate(ctx context.Context, data expression.Data) (Requirement, bool, []expression.Problem) {
	out := r.Requirement

	v, ok, problems := r.Template().Evaluate(ctx, data)
	if !ok || len(problems) > 0 {
		return out, false, problems
	}

	path := "requiredResources." + r.Name

	if r.MatchLabels == nil {
		name, ok := v.(string)
		if !ok || len(validation.IsDNS1123Subdomain(name)) > 0 {
			return out, false, []expression.Problem{Invalid(path+".matchName", errors.Errorf("%s cannot be the name of an object", manifest.Show(v)))}
		}

		out.MatchName = name

		return out, true, nil
	}

	out.MatchLabels = map[string]string{}
	labels, _ := v.(map[string]any)

	for _, k := range manifest.SortedKeys(labels) {
		s, ok := labels[k].(string)
		if !ok || len(validation.IsValidLabelValue(s)) > 0 {
			problems = append(problems, Invalid(path+".matchLabels."+k, errors.Errorf("%s cannot be the value of a label", manifest.Show(labels[k]))))
		}

		out.MatchLabels[k] = s
	}

	// No labels select everything.
	if len(labels) == 0 {
		problems = append(problems, Invalid(path+".matchLabels", errors.New("no label is left to select by")))
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
