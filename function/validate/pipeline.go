package validate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
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

// inputsOf a pipeline are its steps of this function.
func inputsOf(object map[string]any, names ...string) []step {
	return slices.DeleteFunc(stepsOf(object, names...), func(s step) bool { return !s.isOurs() })
}

// isOurs is true for a step of this function, or an input that is meant for it.
func (s step) isOurs() bool {
	return strings.HasPrefix(manifest.Text(s.input, "apiVersion"), v1alpha1.Group+"/") ||
		manifest.Text(s.input, "kind") == v1alpha1.KindAnsibleRuns || s.is("function-ansible")
}

// is true for a step of a function. It may be installed under any name, which mostly is its own, after that of an
// organisation.
func (s step) is(function string) bool { return strings.HasSuffix("-"+s.function, "-"+function) }

// textOf steps, in lower case.
func textOf(steps []step) string {
	all := make([]any, len(steps))
	for i := range steps {
		all[i] = steps[i].whole
	}

	text, _ := json.Marshal(all) //nolint:errchkjson // It was read from YAML.

	return strings.ToLower(string(text))
}
