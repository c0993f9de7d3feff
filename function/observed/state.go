// Package observed has the state of an XR in a request: the XR, its composed resources, the desired resources of
// earlier steps, and required resources. Views are these objects as expressions see them.
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

// State is the state of an XR in a request. Its values are JSON with all numbers as float64. They are not modified.
type State struct {
	// XR is the observed XR; empty for an Operation.
	XR map[string]any
	// Details are the connection details of the XR.
	Details map[string][]byte
	// Resources are the composed resources by composition resource name, including lost ones.
	Resources map[string]Resource
	// Required are the required resources by the name of the requirement. A requirement without an answer is left out.
	Required map[string][]map[string]any
	// Context is the context of the pipeline.
	Context map[string]any
	// EarlierStatus is the desired status of the XR of earlier steps.
	EarlierStatus map[string]any
	// Earlier are the desired resources of earlier steps by composition resource name.
	Earlier map[string]*fnv1.Resource
}

// A Resource is a composed resource. The zero Resource is not observed.
type Resource struct {
	// Object is the resource without managed fields.
	Object map[string]any
	// Applied is the part of an AnsibleRun that core has applied, see ansiblerun.Applied.
	Applied map[string]any
	// Details are the connection details of the resource.
	Details map[string][]byte
	// Lost is true if the XR has lost its reference to the resource. It is not among the observed resources, but among
	// the required ones.
	Lost bool
}

// Again returns the object that leaves an AnsibleRun unchanged when core applies it, see ansiblerun.Again.
func (r Resource) Again() map[string]any { return ansiblerun.Again(r.Object, r.Applied) }

// controls is true if the XR is the controller of an object.
func (o State) controls(composed map[string]any) bool {
	return metav1.IsControlledBy(&unstructured.Unstructured{Object: composed}, &unstructured.Unstructured{Object: o.XR})
}

// controlledBefore is true if the controller of an object is an earlier XR: one of the same kind and name with another
// UID.
func (o State) controlledBefore(composed map[string]any) bool {
	c, xr := metav1.GetControllerOf(&unstructured.Unstructured{Object: composed}), unstructured.Unstructured{Object: o.XR}

	return c != nil && c.Name == xr.GetName() && c.UID != xr.GetUID() &&
		schema.FromAPIVersionAndKind(c.APIVersion, c.Kind).GroupKind() == xr.GroupVersionKind().GroupKind() &&
		(xr.GetNamespace() == "" || xr.GetNamespace() == manifest.Namespace(composed))
}

// UID returns the UID of the XR.
func (o State) UID() string { return manifest.UID(o.XR) }

// Run returns an observed AnsibleRun; false when the resource is not an AnsibleRun, or not observed.
func (o State) Run(resource string) (map[string]any, bool) {
	r := o.Resources[resource].Object
	return r, ansiblerun.Is(r)
}

// Reported returns the message of the condition AnsibleRunsReady of an XR. Each line about a run begins with its name,
// see Called, and a colon.
func Reported(xr map[string]any) string {
	return manifest.Text(manifest.Condition(xr, ansiblerun.TypeAnsibleRunsReady), "message")
}

// Called returns the name of a run for messages. If its AnsibleRun has another composition resource name, that follows
// in parentheses, since the AnsibleRun shows only that one.
func Called(name, resource string) string {
	if name == resource {
		return name
	}

	return name + " (" + resource + ")"
}

// contextEnvironment is the key in the context for the merged EnvironmentConfigs.
const contextEnvironment = "apiextensions.crossplane.io/environment"

// Environment returns the merged EnvironmentConfigs of earlier steps.
func (o State) Environment() map[string]any {
	e, _ := o.Context[contextEnvironment].(map[string]any)
	return e
}

// readyKinds has the type of the condition for readiness by kind of Kubernetes itself. Objects of its other kinds are
// ready when they exist.
var readyKinds = map[string]string{ //nolint:gochecknoglobals // Go has no constant maps.
	"Deployment": "Available",
	"Job":        "Complete",
	"Pod":        ansiblerun.ConditionReady,
}

// Available is true for a composed resource that is ready: as an earlier step says or, without that, by its condition.
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

// Status returns the status fields of the XR that core has applied. Core removes them if the next response does not
// have them. Without managed fields, it returns all fields of the status. Fields that Crossplane owns are left out.
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
