package validate

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

// nothing composed by functions without an input, by their names.
var nothing = []string{"function-auto-ready"} //nolint:gochecknoglobals // Go has no constant slices.

// composed returns what the steps of a Composition compose that a step may refer to, by composition
// resource name, with the schemas that the definitions have. Of other steps of this function these are
// the runs of earlier ones. It is nil when that cannot be told.
func composed(d document, definitions []definition, of int) map[string]map[string]any {
	all := map[string]map[string]any{}

	pipeline, _, _ := unstructured.NestedSlice(d.object, "spec", "pipeline")
	for i := range pipeline {
		step, _ := pipeline[i].(map[string]any)
		in, _ := step["input"].(map[string]any)
		ref, _ := step["functionRef"].(map[string]any)
		group, _, _ := strings.Cut(manifest.Text(in, "apiVersion"), "/")

		switch {
		case isOurs(step, in):
			runs, _ := input.Runs(in)
			for _, r := range runs {
				switch {
				case i >= of:
				case r.IsSet():
					return nil
				default:
					all[r.Resource()] = nil
				}
			}
		case group == groupEnvironment:
		case group == groupPatch:
			patched(in, definitions, all)
		case !slices.ContainsFunc(nothing,
			func(f string) bool { return strings.HasSuffix("-"+manifest.Text(ref, "name"), "-"+f) }):
			return nil
		}
	}

	return all
}

// patched adds what an input of function-patch-and-transform names.
func patched(in map[string]any, definitions []definition, all map[string]map[string]any) {
	resources, _ := in["resources"].([]any)
	for i := range resources {
		r, _ := resources[i].(map[string]any)
		base, _ := r["base"].(map[string]any)
		group, version, _ := strings.Cut(manifest.Text(base, "apiVersion"), "/")

		all[manifest.Text(r, "name")] = nil
		if v, err := lookup(definitions,
			typeReference{group: group, version: version, kind: manifest.Text(base, "kind")}); err == nil {
			all[manifest.Text(r, "name")] = v.schema
		}
	}
}
