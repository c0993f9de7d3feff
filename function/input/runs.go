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

// A Run is a run of an input, with the defaults merged in.
type Run struct {
	// Run has the fields of the run. Computed settings are not set.
	v1alpha1.Run

	// Path is the path of the run in the input.
	Path *field.Path
	// Own is the run as JSON, without the defaults.
	Own map[string]any
	// Object is the run as JSON, with the defaults. Fields with expressions are compiled from it.
	Object map[string]any
}

// IsSet is true for a run with forEach.
func (r Run) IsSet() bool { return isSet(r.Object) }

// Runs returns the runs of an input. The errors are invalid and duplicate names.
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
			Path: field.NewPath("runs").Index(i), Own: own, Object: manifest.Overlay(defaultsFor(own, defaults), own),
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

// defaultsFor returns the defaults that apply to a run. Content, project and onDelete of the run replace those of the
// defaults as a whole. Fields for sets apply only to a run with forEach.
func defaultsFor(run, defaults map[string]any) map[string]any {
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

func isSet(run map[string]any) bool {
	_, ok := run["forEach"]
	return ok
}

// Decode decodes the fields of an object into a struct one by one. It leaves out fields of another type: computed
// settings, and fields that violate the schema.
func Decode(from map[string]any, into any) {
	for name, v := range from {
		if b, err := json.Marshal(map[string]any{name: v}); err == nil {
			_ = json.Unmarshal(b, into)
		}
	}
}
