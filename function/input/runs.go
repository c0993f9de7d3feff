package input

import (
	"maps"

	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/fields"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A Run of an input, with the defaults merged in.
type Run struct {
	// Run has the fields of the run. Settings that are computed are not set.
	v1alpha1.Run

	// Path of the run in the input.
	Path *field.Path
	// Own fields of the run, as they are written.
	Own map[string]any
	// Object is the run as JSON, with the defaults. Fields that hold expressions are compiled
	// from it.
	Object map[string]any
}

// IsSet is true for a run that is made by forEach.
func (r Run) IsSet() bool { return isSet(r.Object) }

// Runs of an input. The errors are names that they cannot have, or that are not unique.
func Runs(in map[string]any) ([]Run, field.ErrorList) {
	var (
		all  []Run
		errs field.ErrorList
	)

	defaults, _ := in["defaults"].(map[string]any)
	runs, _ := in["runs"].([]any)
	seen := map[string]bool{}

	for i := range runs {
		own, ok := runs[i].(map[string]any)
		if !ok {
			continue
		}

		r := Run{
			Path: field.NewPath("runs").Index(i), Own: own, Object: manifest.Overlay(under(defaults, own), own),
		}
		Decode(r.Object, &r.Run)

		switch r.Name {
		case "in", "true", "false", "null":
			errs = append(errs, field.Invalid(r.Path.Child("name"), r.Name, "is a word of the expression language"))
		}

		if seen[r.Name] {
			errs = append(errs, field.Duplicate(r.Path.Child("name"), r.Name))
		}

		seen[r.Name] = true
		all = append(all, r)
	}

	return all, errs
}

// under returns the defaults that apply to a run: without their content, project or onDelete when the run has
// its own, and without the fields of sets when it is none.
func under(defaults, run map[string]any) map[string]any {
	d := maps.Clone(defaults)

	if !isSet(run) {
		maps.DeleteFunc(d, func(name string, _ any) bool { return fields.Of(name).OfSets })
	}

	for _, whole := range []string{"project", "onDelete"} {
		if _, ok := run[whole]; ok {
			delete(d, whole)
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

// Decode the fields of an object into a type, each by itself: one that is a computed
// setting, or violates the schema, is left out and keeps no other from being read.
func Decode(from map[string]any, into any) {
	for name, v := range from {
		if b, err := json.Marshal(map[string]any{name: v}); err == nil {
			_ = json.Unmarshal(b, into)
		}
	}
}
