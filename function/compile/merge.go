package compile

import (
	"cmp"
	"maps"

	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A template is a run of the input, with the defaults merged in.
type template struct {
	// Run has the fields of the run. Settings that are computed are not set.
	v1alpha1.Run

	path *field.Path
	// object is the run as JSON. Fields that hold expressions are compiled from it.
	object map[string]any
}

// resource is the composition resource name.
func (t template) resource() string { return cmp.Or(t.ResourceName, t.Name) }

// decode the fields of an object into a type, each by itself: one that is a computed
// setting, or violates the schema, is left out and keeps no other from being read.
func decode(from map[string]any, into any) {
	for name, v := range from {
		if b, err := json.Marshal(map[string]any{name: v}); err == nil {
			_ = json.Unmarshal(b, into)
		}
	}
}

// merge the defaults into the runs. The errors are names that are not unique.
func merge(in map[string]any) ([]template, field.ErrorList) {
	var (
		templates []template
		errs      field.ErrorList
	)

	defaults, _ := in["defaults"].(map[string]any)
	runs, _ := in["runs"].([]any)
	seen := map[string]bool{}
	resources := map[string]bool{}

	for i := range runs {
		r, ok := runs[i].(map[string]any)
		if !ok {
			continue
		}

		t := template{path: field.NewPath("runs").Index(i), object: manifest.Overlay(under(defaults, r), r)}
		decode(t.object, &t.Run)

		switch t.Name {
		case "in", "true", "false", "null":
			errs = append(errs, field.Invalid(t.path.Child("name"), t.Name, "is a word of the expression language"))
		}

		if seen[t.Name] {
			errs = append(errs, field.Duplicate(t.path.Child("name"), t.Name))
		} else if resources[t.resource()] {
			errs = append(errs, field.Duplicate(t.path.Child("resourceName"), t.resource()))
		}

		seen[t.Name], resources[t.resource()] = true, true
		templates = append(templates, t)
	}

	return templates, errs
}

// ofSets are the fields of runs that are made by forEach, and of no others.
var ofSets = [...]string{"forEachKey", "removal"} //nolint:gochecknoglobals // Go has no constant arrays.

// under returns the defaults that apply to a run: without their content when the run has
// its own, and without the fields of sets when it is none.
func under(defaults, run map[string]any) map[string]any {
	d := maps.Clone(defaults)

	if !isSet(defaults) && !isSet(run) {
		for _, name := range ofSets {
			delete(d, name)
		}
	}

	for _, c := range ansiblerun.ContentFields {
		if _, ok := run[c]; !ok {
			continue
		}

		for _, c := range ansiblerun.ContentFields {
			delete(d, c)
		}
	}

	return d
}

// isSet is true for a run that is made by forEach.
func isSet(run map[string]any) bool {
	_, ok := run["forEach"]
	return ok
}

// names of the runs: true for those that are made by forEach.
func names(templates []template) map[string]bool {
	ns := make(map[string]bool, len(templates))
	for i := range templates {
		ns[templates[i].Name] = isSet(templates[i].object)
	}

	return ns
}
