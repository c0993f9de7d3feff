// Package observed has the state of an XR that core sends with each request: the XR,
// what it is composed of, what earlier steps of the pipeline compose, and the resources
// that core has fetched. The function makes a State of each request; the packages
// desired, removal and composite read it. Views are what expressions see of its objects.
package observed

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// State is what core has observed of an XR. Its values are JSON with all numbers
// float64, and are not changed.
type State struct {
	// XR as observed.
	XR map[string]any
	// Details are the connection details of the XR.
	Details map[string][]byte
	// Resources that the XR is composed of, by composition resource name.
	Resources map[string]Resource
	// Required resources by name, those that core has answered.
	Required map[string][]map[string]any
	// Context of the pipeline.
	Context map[string]any
	// EarlierStatus has the status fields of the XR that earlier steps have.
	EarlierStatus map[string]any
	// Earlier is what earlier steps of the pipeline compose, by composition resource name.
	Earlier map[string]*fnv1.Resource
}

// A Resource that an XR is composed of. The zero Resource is not observed.
type Resource struct {
	// Object without its managed fields.
	Object map[string]any
	// Applied is what core has applied of an AnsibleRun, see ansiblerun.Applied.
	Applied map[string]any
	// Details are its connection details.
	Details map[string][]byte
	// Lost is true if the XR has lost its reference to it. Core does not observe it, but has found it.
	Lost bool
}

// Again returns what core has to apply again in order to change nothing of an AnsibleRun.
func (r Resource) Again() map[string]any { return ansiblerun.Again(r.Object, r.Applied) }

// controls is true for an object if the XR is its controller.
func (o State) controls(composed map[string]any) bool {
	return metav1.IsControlledBy(&unstructured.Unstructured{Object: composed}, &unstructured.Unstructured{Object: o.XR})
}

// controlledBefore is true for an object if its controller is an earlier XR: one of the same kind and name with
// another uid.
func (o State) controlledBefore(composed map[string]any) bool {
	c, xr := metav1.GetControllerOf(&unstructured.Unstructured{Object: composed}), unstructured.Unstructured{Object: o.XR}

	return c != nil && c.Name == xr.GetName() && c.UID != xr.GetUID() &&
		schema.FromAPIVersionAndKind(c.APIVersion, c.Kind).GroupKind() == xr.GroupVersionKind().GroupKind() &&
		(xr.GetNamespace() == "" || xr.GetNamespace() == manifest.Namespace(composed))
}

// UID of the XR.
func (o State) UID() string { return manifest.UID(o.XR) }

// Run returns an observed AnsibleRun; false when the resource is none.
func (o State) Run(resource string) (map[string]any, bool) {
	r := o.Resources[resource].Object
	return r, ansiblerun.Is(r)
}

// Reported returns the message of the condition AnsibleRunsReady that an XR has. Each
// line about a run starts with what the run is Called and a colon.
func Reported(xr map[string]any) string {
	return manifest.Text(manifest.Condition(xr, ansiblerun.TypeAnsibleRunsReady), "message")
}

// Called is what Reported calls a run: by its name, and by the composition resource name of its AnsibleRun
// where that is another, since an AnsibleRun shows only that.
func Called(name, resource string) string {
	if name == resource {
		return name
	}

	return name + " (" + resource + ")"
}

// contextEnvironment is the key of the context under which earlier steps put the merged
// EnvironmentConfigs.
const contextEnvironment = "apiextensions.crossplane.io/environment"

// Environment returns the merged EnvironmentConfigs of earlier steps.
func (o State) Environment() map[string]any {
	e, _ := o.Context[contextEnvironment].(map[string]any)
	return e
}

// readyKinds are the kinds of Kubernetes itself that have a condition for readiness, with
// its type. Objects of the other kinds of Kubernetes are ready once they exist.
var readyKinds = map[string]string{ //nolint:gochecknoglobals // Go has no constant maps.
	"Deployment": "Available",
	"Job":        "Complete",
	"Pod":        ansiblerun.ConditionReady,
}

// Available is true for a composed resource that is ready, by what an earlier step says,
// or else by its condition.
func (o State) Available(name string) bool {
	if ready := o.Earlier[name].GetReady(); ready != fnv1.Ready_READY_UNSPECIFIED {
		return ready == fnv1.Ready_READY_TRUE
	}

	resource := o.Resources[name].Object
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

	// Not every controller sets observedGeneration in its conditions.
	return manifest.Text(c, "status") == ansiblerun.ConditionTrue &&
		(c["observedGeneration"] == nil || manifest.IsCurrent(resource, c))
}

// managerXR is the field manager with which core applies the status of XRs.
const managerXR = "apiextensions.crossplane.io/composite"

// Status returns the status fields of the XR that core has applied, and that it removes unless they are applied
// again. Fields of Crossplane's own are left out. Without managed fields it is not known which ones core has applied,
// and all others are returned.
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
		if manifest.Text(entry, "operation") == "Apply" && manifest.Text(entry, "subresource") == "status" &&
			manifest.Text(entry, "manager") == managerXR {
			applied, _ = manifest.Nested(entry, "fieldsV1", "f:status").(map[string]any)
		}
	}

	maps.DeleteFunc(kept, func(name string, _ any) bool { return applied["f:"+name] == nil })

	return kept
}
