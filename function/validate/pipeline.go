package validate

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A stepInput is the input of a step of this function.
type stepInput struct {
	// step is its number in the pipeline.
	step int
	// path of the input in the object.
	path   string
	values map[string]any
}

// inputsOf a pipeline that are the function's, in their order. It is in the field of an object to
// which these names lead.
func inputsOf(object map[string]any, names []string) []stepInput {
	var inputs []stepInput

	v, _, _ := unstructured.NestedFieldNoCopy(object, append(slices.Clone(names), "pipeline")...)
	pipeline, _ := v.([]any)

	for i := range pipeline {
		step, _ := pipeline[i].(map[string]any)
		in, _ := step["input"].(map[string]any)

		if isOurs(step, in) {
			inputs = append(inputs,
				stepInput{step: i, path: strings.Join(names, ".") + ".pipeline[" + strconv.Itoa(i) + "].input", values: in})
		}
	}

	return inputs
}

// isOurs is true for a step of this function, or an input that is meant for it. A
// function may be installed under any name, which mostly is its own, after that
// of an organisation.
func isOurs(step, in map[string]any) bool {
	ref, _ := step["functionRef"].(map[string]any)

	return strings.HasPrefix(manifest.Text(in, "apiVersion"), v1alpha1.Group+"/") ||
		manifest.Text(in, "kind") == v1alpha1.KindAnsibleRuns ||
		strings.HasSuffix("-"+manifest.Text(ref, "name"), "-function-ansible")
}
