// Package tree says how the AnsibleRuns of an object are: it turns what the API server has
// into a tree, of an XR or a claim and the runs that it stands for, or of an AnsibleRun
// alone. It decides which of them a request is for, and when the request is answered.
package tree

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
)

// A Reference to an object.
type Reference struct {
	GroupVersionKind schema.GroupVersionKind
	Namespace, Name  string
}

// ReferenceTo an object.
func ReferenceTo(o *unstructured.Unstructured) Reference {
	return Reference{GroupVersionKind: o.GroupVersionKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// IsRun is true for AnsibleRuns.
func IsRun(o *unstructured.Unstructured) bool { return ansiblerun.Is(o.Object) }

// References of an XR to its composed resources, or of a claim to its XR.
func References(o *unstructured.Unstructured) []Reference {
	var refs []Reference

	if ref, ok, _ := unstructured.NestedMap(o.Object, "spec", "resourceRef"); ok {
		refs = append(refs, reference(ref, ""))
	}

	for _, path := range [][]string{{"spec", "crossplane", "resourceRefs"}, {"spec", "resourceRefs"}} {
		list, _, _ := unstructured.NestedSlice(o.Object, path...)

		for _, item := range list {
			if ref, ok := item.(map[string]any); ok {
				refs = append(refs, reference(ref, o.GetNamespace()))
			}
		}
	}

	return refs
}

func reference(ref map[string]any, namespace string) Reference {
	text := func(name string) string {
		s, _ := ref[name].(string)
		return s
	}

	r := Reference{
		GroupVersionKind: schema.FromAPIVersionAndKind(text("apiVersion"), text("kind")),
		Namespace:        text("namespace"), Name: text("name"),
	}
	if r.Namespace == "" {
		r.Namespace = namespace
	}

	return r
}

// Owns is true for an XR that controls an object, and for the claim of an XR. The author of an XR may write any
// references: those to the objects of others do not count.
func Owns(owner, o *unstructured.Unstructured) bool {
	if claim, ok, _ := unstructured.NestedMap(o.Object, "spec", "claimRef"); ok && owner.GetNamespace() != "" &&
		o.GetNamespace() == "" {
		ref := reference(claim, "")

		return ref.GroupVersionKind.GroupKind() == owner.GroupVersionKind().GroupKind() &&
			ref.Namespace == owner.GetNamespace() && ref.Name == owner.GetName()
	}

	for _, ref := range o.GetOwnerReferences() {
		if ref.Controller != nil && *ref.Controller {
			return ref.UID == owner.GetUID()
		}
	}

	return false
}
