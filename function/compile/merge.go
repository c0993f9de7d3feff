package compile

import (
	"maps"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A template is a run of the input, with the defaults merged in.
type template struct {
	path   *field.Path
	object map[string]any
}

// resource is the composition resource name.
func (t template) resource() string {
	if n := manifest.Text(t.object, "resourceName"); n != "" {
		return n
	}

	return manifest.Text(t.object, "name")
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
		name := manifest.Text(r, "name")

		switch name {
		case "in", "true", "false", "null":
			errs = append(errs, field.Invalid(t.path.Child("name"), name, "is a word of the expression language"))
		}

		if seen[name] {
			errs = append(errs, field.Duplicate(t.path.Child("name"), name))
		} else if resources[t.resource()] {
			errs = append(errs, field.Duplicate(t.path.Child("resourceName"), t.resource()))
		}

		seen[name], resources[t.resource()] = true, true
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
		ns[manifest.Text(templates[i].object, "name")] = isSet(templates[i].object)
	}

	return ns
}
