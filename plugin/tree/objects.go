// Package tree determines the states of the AnsibleRuns of an object. It turns objects of the API server into a tree:
// an XR or a claim with its runs, or a single AnsibleRun. It decides which of them a request is for, and when it is
// answered.
package tree

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
)

// ReferenceTo returns a reference to an object.
func ReferenceTo(o *unstructured.Unstructured) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(),
	}
}

// References returns the references of an XR to its composed resources, or of a claim to its XR.
func References(o *unstructured.Unstructured) []corev1.ObjectReference {
	var refs []corev1.ObjectReference

	fields := fieldpath.Pave(o.Object)

	for _, path := range []string{"spec.crossplane.resourceRefs", "spec.resourceRefs"} {
		var composed []corev1.ObjectReference
		_ = fields.GetValueInto(path, &composed) // A field of another type is not Crossplane's.

		for _, ref := range composed {
			ref.Namespace = cmp.Or(ref.Namespace, o.GetNamespace())
			refs = append(refs, ref)
		}
	}

	var xr corev1.ObjectReference
	if fields.GetValueInto("spec.resourceRef", &xr) == nil {
		refs = append(refs, xr)
	}

	return refs
}

// Owns is true for an XR that controls an object, and for the claim of an XR. The author of an XR can write any
// references: references to objects that it does not control do not count.
func Owns(owner, o *unstructured.Unstructured) bool {
	var claim corev1.ObjectReference
	if o.GetNamespace() == "" && fieldpath.Pave(o.Object).GetValueInto("spec.claimRef", &claim) == nil &&
		owner.GetNamespace() != "" {
		return claim.GroupVersionKind().GroupKind() == owner.GroupVersionKind().GroupKind() &&
			claim.Namespace == owner.GetNamespace() && claim.Name == owner.GetName()
	}

	return metav1.IsControlledBy(o, owner)
}
