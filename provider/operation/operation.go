// Package operation makes an AnsibleRun reflect only the last Operation that applied it. Crossplane applies with a
// field owner for each Operation. Without this package, fields that earlier Operations have set would stay for ever,
// and the managed fields would get an entry for each Operation. The reconciler calls it first.
package operation

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// ownerPrefix is the prefix of the field owner of an Operation; its uid follows. Source: FieldOwnerPrefix of the
// reconciler of Operations of Crossplane v2.4.
const ownerPrefix = "ops.crossplane.io/operation/"

// Pending is true for an object that an Operation has applied since Settle last ran on it.
func Pending(o metav1.Object) bool {
	request, _ := meta.GetReconcileRequest(o)
	return strings.HasPrefix(request, common.OperationRequest)
}

// Settle a pending object, which must have been read with its managed fields. It removes labels, annotations and fields
// of the spec that only earlier Operations have set, and the managed fields of these Operations. The requested
// reconcile becomes the uid of the last Operation, so that a retry of the Operation requests the same.
//
// All of spec.forProvider is one field, which every apply replaces.
func Settle(o *unstructured.Unstructured) error {
	request, _ := meta.GetReconcileRequest(o)
	request = strings.TrimPrefix(request, common.OperationRequest)

	requested := fieldpath.MakePathOrDie("metadata", "annotations", meta.AnnotationKeyReconcileRequestedAt)
	last, stale, kept := "", &fieldpath.Set{}, &fieldpath.Set{}

	entries := o.GetManagedFields()
	sets := make([]*fieldpath.Set, len(entries))

	for i, e := range entries {
		set, err := fieldsOf(e)
		if err != nil {
			return err
		}

		// Each Operation sets another value, so that only the last one owns the request.
		if sets[i] = set; isOperation(e) && set.Has(requested) {
			last = e.Manager
		}
	}

	if last != "" {
		request = strings.TrimPrefix(last, ownerPrefix)
		earlier := func(e metav1.ManagedFieldsEntry) bool { return isOperation(e) && e.Manager != last }

		for i, e := range entries {
			if earlier(e) {
				stale = stale.Union(sets[i])
			} else {
				kept = kept.Union(sets[i])
			}
		}

		remove(o, stale.Difference(kept))
		o.SetManagedFields(slices.DeleteFunc(entries, earlier))
	}

	meta.AddAnnotations(o, map[string]string{meta.AnnotationKeyReconcileRequestedAt: request})

	return nil
}

// isOperation is true for an entry that an Operation has applied.
func isOperation(e metav1.ManagedFieldsEntry) bool {
	return e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" &&
		strings.HasPrefix(e.Manager, ownerPrefix)
}

func fieldsOf(e metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if e.FieldsV1 == nil {
		return set, nil
	}

	return set, errors.Wrapf(set.FromJSON(e.FieldsV1.GetRawReader()), "cannot read which fields %q manages", e.Manager)
}

// remove fields of the metadata and the spec, and maps that become empty.
func remove(o *unstructured.Unstructured, fields *fieldpath.Set) {
	for path := range fields.All() {
		names := make([]string, 0, len(path))

		for _, e := range path {
			if e.FieldName != nil {
				names = append(names, *e.FieldName)
			}
		}

		if len(names) < len(path) || !removable(names) {
			continue
		}

		for ; len(names) > 1; names = names[:len(names)-1] {
			v, _, _ := unstructured.NestedFieldNoCopy(o.Object, names...)
			if m, ok := v.(map[string]any); ok && len(m) > 0 {
				break
			}

			unstructured.RemoveNestedField(o.Object, names...)
		}
	}
}

// removable is true for labels, annotations and fields of the spec, except for spec.forProvider, which is applied as a
// whole.
func removable(names []string) bool {
	if len(names) < 2 {
		return false
	}

	switch names[0] {
	case "metadata":
		return names[1] == "labels" || names[1] == "annotations"
	case "spec":
		return names[1] != "forProvider"
	}

	return false
}
