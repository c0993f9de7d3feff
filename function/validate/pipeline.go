package validate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// Groups of the inputs of functions with known composed resources.
const (
	// groupPatch is the group of function-patch-and-transform. Its input names the resources.
	groupPatch = "pt.fn.crossplane.io"
	// groupEnvironment is the group of function-environment-configs, which composes none.
	groupEnvironment = "environmentconfigs.fn.crossplane.io"
)

// A step is a step of a pipeline.
type step struct {
	// index is the index in the pipeline, and path the path of the input in the object.
	index int
	path  string
	// function is the name of the function that the step refers to.
	function string
	// whole is the step as JSON, and input its input.
	whole, input map[string]any
}

// stepsOf returns the steps of the pipeline below the field of an object at a path.
func stepsOf(object map[string]any, names ...string) []step {
	var steps []step

	pipeline, _ := manifest.Nested(object, append(slices.Clone(names), "pipeline")...).([]any)
	for i := range pipeline {
		whole, _ := pipeline[i].(map[string]any)
		in, _ := whole["input"].(map[string]any)

		steps = append(steps, step{
			index: i, path: fmt.Sprintf("%s.pipeline[%d].input", strings.Join(names, "."), i),
			function: manifest.NestedText(whole, "functionRef", "name"), whole: whole, input: in,
		})
	}

	return steps
}

// ours returns the steps of this function.
func ours(steps []step) []step {
	return slices.DeleteFunc(slices.Clone(steps), func(s step) bool { return !s.isOurs() })
}

// group returns the API group of the input.
func (s step) group() string {
	group, _, _ := strings.Cut(manifest.Text(s.input, "apiVersion"), "/")
	return group
}

// isOurs is true for a step of this function, by its input or by its name.
func (s step) isOurs() bool {
	return s.group() == v1alpha1.Group || manifest.Text(s.input, "kind") == v1alpha1.KindAnsibleRuns ||
		s.is("function-ansible")
}

// is reports whether a step is of a function. The name under which a function is installed usually ends in its own
// name, after that of an organization.
func (s step) is(function string) bool { return strings.HasSuffix("-"+s.function, "-"+function) }

// mentions is true for a step that contains a text in lower case, ignoring case.
func (s step) mentions(text string) bool {
	whole, _ := json.Marshal(s.whole) //nolint:errchkjson // It was read from YAML.

	return strings.Contains(strings.ToLower(string(whole)), text)
}

// composed returns the resources of other steps that the step at an index may refer to, by composition resource name,
// with their schemas; nil for a resource without a known schema. Runs of this function count only in earlier steps. The
// result is nil if the resources of a step are unknown.
func composed(steps []step, at int, definitions []version) map[string]map[string]any {
	if len(steps) == 0 {
		return nil
	}

	all := map[string]map[string]any{}

	for _, s := range steps {
		switch group := s.group(); {
		case s.isOurs():
			runs, _ := input.Runs(s.input)
			for _, r := range runs {
				switch {
				case s.index >= at:
				case r.IsSet():
					return nil
				default:
					all[r.Name] = nil
				}
			}
		case group == groupPatch:
			s.patched(definitions, all)
		case group != groupEnvironment && !s.is("function-auto-ready"):
			return nil
		}
	}

	return all
}

// patched adds the resources in an input of function-patch-and-transform.
func (s step) patched(definitions []version, all map[string]map[string]any) {
	resources, _ := s.input["resources"].([]any)
	for i := range resources {
		r, _ := resources[i].(map[string]any)
		base, _ := r["base"].(map[string]any)

		all[manifest.Text(r, "name")] = nil
		if v, err := lookup(definitions, manifest.Text(base, "apiVersion"), manifest.Text(base, "kind")); err == nil {
			all[manifest.Text(r, "name")] = v.openAPI
		}
	}
}
