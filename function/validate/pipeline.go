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

// Groups of the inputs of functions of which it is known what they compose.
const (
	// groupPatch is that of function-patch-and-transform: what its input names.
	groupPatch = "pt.fn.crossplane.io"
	// groupEnvironment is that of function-environment-configs: nothing.
	groupEnvironment = "environmentconfigs.fn.crossplane.io"
)

// A step of a pipeline.
type step struct {
	// index in the pipeline, and path of the input in the object.
	index int
	path  string
	// function that the step refers to.
	function string
	// whole step, as it is written, and its input.
	whole, input map[string]any
}

// stepsOf the pipeline that is in the field of an object to which these names lead.
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

// ours are the steps of this function.
func ours(steps []step) []step {
	return slices.DeleteFunc(slices.Clone(steps), func(s step) bool { return !s.isOurs() })
}

// group of the step's input.
func (s step) group() string {
	group, _, _ := strings.Cut(manifest.Text(s.input, "apiVersion"), "/")
	return group
}

// isOurs is true for a step of this function, or an input that is meant for it.
func (s step) isOurs() bool {
	return s.group() == v1alpha1.Group || manifest.Text(s.input, "kind") == v1alpha1.KindAnsibleRuns ||
		s.is("function-ansible")
}

// is true for a step of a function. It may be installed under any name, which mostly is its own, after that of an
// organisation.
func (s step) is(function string) bool { return strings.HasSuffix("-"+s.function, "-"+function) }

// mentions is true for a step with a text in it, in any case.
func (s step) mentions(text string) bool {
	whole, _ := json.Marshal(s.whole) //nolint:errchkjson // It was read from YAML.

	return strings.Contains(strings.ToLower(string(whole)), text)
}

// composed returns what the steps of a Composition compose that one of them may refer to, by composition
// resource name, with the schemas that the definitions have. Of other steps of this function these are
// the runs of earlier ones. It is nil when that cannot be told.
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

// patched adds what an input of function-patch-and-transform names.
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
