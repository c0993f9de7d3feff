// Package observed has the state of an XR that core sends with each request: the XR,
// what it is composed of, what earlier steps of the pipeline compose, and the resources
// that core has fetched. Views are what expressions see of them.
package observed

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// WaitingFor starts the messages of runs that wait.
const WaitingFor = "waiting for "

// State is what core has observed of an XR. Its values are JSON with all numbers
// float64, and are not changed.
type State struct {
	// XR as observed.
	XR map[string]any
	// Resources that the XR is composed of, by composition resource name. They need
	// no managed fields.
	Resources map[string]map[string]any
	// Owned are the FieldsV1 sets of what core's own apply owns of Resources, by the
	// same names, as Owned returns them.
	Owned map[string]*structpb.Struct
	// Required resources by name, those that core has answered.
	Required map[string][]map[string]any
	// Details are the connection details of Resources, by the same names, and of
	// the XR, under "".
	Details map[string]map[string][]byte
	// Context of the pipeline.
	Context map[string]any
	// Earlier are the composition resource names of what earlier steps of the
	// pipeline compose.
	Earlier map[string]bool
	// Ready is what earlier steps say of the readiness of what they compose, where
	// they do.
	Ready map[string]bool
	// Reported is what was said of the runs before: a line each, which starts
	// with the name of the run and a colon.
	Reported string
}

// Controls is true for an object whose controller is the XR.
func (o State) Controls(composed map[string]any) bool {
	list, _ := manifest.Nested(composed, "metadata", "ownerReferences").([]any)

	return slices.ContainsFunc(list, func(v any) bool {
		m, _ := v.(map[string]any)
		return m["controller"] == true && manifest.Text(m, "uid") == o.UID()
	})
}

// UID of the XR.
func (o State) UID() string { return manifest.UID(o.XR) }

// Run returns an observed AnsibleRun; false when the resource is none.
func (o State) Run(resource string) (map[string]any, bool) {
	r := o.Resources[resource]
	return r, ansiblerun.Is(r)
}

// FailuresReported returns the messages of a run's failure in the condition of the XR.
func (o State) FailuresReported(name string) []string {
	var messages []string

	for l := range strings.Lines(o.Reported) {
		m, ok := strings.CutPrefix(strings.TrimSuffix(l, "\n"), name+": ")
		if ok && !strings.HasPrefix(m, "is ") && !strings.HasPrefix(m, WaitingFor) {
			messages = append(messages, m)
		}
	}

	return messages
}

// contextEnvironment is where the EnvironmentConfigs of earlier steps are in the
// context.
const contextEnvironment = "apiextensions.crossplane.io/environment"

// Environment returns the merged EnvironmentConfigs of earlier steps.
func (o State) Environment() map[string]any {
	e, _ := o.Context[contextEnvironment].(map[string]any)
	return e
}

// readyKinds of Kubernetes have a condition that says when they are ready. Others of
// its own kinds are when they are there.
var readyKinds = map[string]string{ //nolint:gochecknoglobals // Go has no constant maps.
	"Deployment": "Available",
	"Job":        "Complete",
	"Pod":        ansiblerun.ConditionReady,
}

// Available is true for a composed resource that is ready: as an earlier step says,
// or by its condition.
func (o State) Available(name string) bool {
	if ready, ok := o.Ready[name]; ok {
		return ready
	}

	resource := o.Resources[name]
	if ansiblerun.Is(resource) {
		return ansiblerun.IsReady(resource)
	}

	group, _, ok := strings.Cut(manifest.Text(resource, "apiVersion"), "/")
	typ := ansiblerun.ConditionReady

	if !ok || !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") {
		typ = readyKinds[manifest.Text(resource, "kind")]
	}

	if typ == "" {
		return true
	}

	c := manifest.Condition(resource, typ)

	// Not all controllers say of which generation it tells.
	return manifest.Text(c, "status") == ansiblerun.ConditionTrue && (c["observedGeneration"] == nil || manifest.IsCurrent(resource, c))
}

// managerXR is the name under which core applies the status of XRs.
const managerXR = "apiextensions.crossplane.io/composite"

// Status of the XR that core has applied, which goes unless it is applied again:
// nothing of Crossplane's own, and, where managed fields tell, nothing that others
// have written.
func (o State) Status() map[string]any {
	status, _ := o.XR["status"].(map[string]any)
	kept := maps.Clone(status)
	maps.DeleteFunc(kept, func(name string, _ any) bool { return slices.Contains(manifest.ReservedStatus[:], name) })

	v, known, _ := unstructured.NestedFieldNoCopy(o.XR, "metadata", ansiblerun.FieldManaged)
	if !known {
		return kept
	}

	entries, _ := v.([]any)
	applied := map[string]any{}

	for _, e := range entries {
		entry, _ := e.(map[string]any)
		if manifest.Text(entry, "operation") == "Apply" && manifest.Text(entry, "subresource") == "status" && manifest.Text(entry, "manager") == managerXR {
			applied, _ = manifest.Nested(entry, "fieldsV1", "f:status").(map[string]any)
		}
	}

	maps.DeleteFunc(kept, func(name string, _ any) bool { return applied["f:"+name] == nil })

	return kept
}
