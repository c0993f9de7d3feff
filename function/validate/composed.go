package validate

import (
	"strings"

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

// composed returns what the steps of a Composition compose that a step may refer to, by composition
// resource name, with the schemas that the definitions have. Of other steps of this function these are
// the runs of earlier ones. It is nil when that cannot be told.
func composed(d document, definitions []version, of int) map[string]map[string]any {
	all := map[string]map[string]any{}

	for _, s := range stepsOf(d.object, "spec") {
		group, _, _ := strings.Cut(manifest.Text(s.input, "apiVersion"), "/")

		switch {
		case s.isOurs():
			runs, _ := input.Runs(s.input)
			for _, r := range runs {
				switch {
				case s.index >= of:
				case r.IsSet():
					return nil
				default:
					all[r.Name] = nil
				}
			}
		case group == groupPatch:
			patched(s.input, definitions, all)
		case group != groupEnvironment && !s.is("function-auto-ready"):
			return nil
		}
	}

	return all
}

// patched adds what an input of function-patch-and-transform names.
func patched(in map[string]any, definitions []version, all map[string]map[string]any) {
	resources, _ := in["resources"].([]any)
	for i := range resources {
		r, _ := resources[i].(map[string]any)
		base, _ := r["base"].(map[string]any)

		all[manifest.Text(r, "name")] = nil
		if v, err := lookup(definitions, manifest.Text(base, "apiVersion"), manifest.Text(base, "kind")); err == nil {
			all[manifest.Text(r, "name")] = v.openAPI
		}
	}
}
