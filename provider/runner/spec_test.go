package runner

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// TestObjectDigest has changes of the metadata that an approval covers, and others.
func TestObjectDigest(t *testing.T) {
	key := []byte("key")
	was := Object{
		Name: "web", Generation: 1, Labels: map[string]string{"tier": "a"}, Owner: Owner{Kind: "Site", Name: "web"},
		Annotations: map[string]string{"example.org/text": "a", "crossplane.io/external-name": "a", common.AnnotationCancel: "1"},
	}

	for name, tc := range map[string]struct {
		reason string
		change func(o *Object)
		same   bool
	}{
		"Label":        {reason: "The content receives labels.", change: func(o *Object) { o.Labels = map[string]string{"tier": "b"} }},
		"Annotation":   {reason: "The content receives annotations.", change: func(o *Object) { o.Annotations["example.org/text"] = "b" }},
		"Plain":        {reason: "The content receives annotations without a domain.", change: func(o *Object) { o.Annotations["text"] = "b" }},
		"Alike":        {reason: "A domain that only ends in crossplane.io, without a dot, is not Crossplane's.", change: func(o *Object) { o.Annotations["notcrossplane.io/text"] = "b" }},
		"ExternalName": {reason: "Content may use the external name as the name of its target.", change: func(o *Object) { o.Annotations["crossplane.io/external-name"] = "b" }},
		"Resource":     {reason: "Content may use the name of the resource in the Composition.", change: func(o *Object) { o.Annotations["crossplane.io/composition-resource-name"] = "b" }},
		"Owner":        {reason: "Content may use the name of the XR.", change: func(o *Object) { o.Owner.Name = "db" }},
		"Crossplane":   {reason: "Requests for a reconcile should not need another approval.", change: func(o *Object) { o.Annotations["crossplane.io/reconcile-requested-at"] = "b" }, same: true},
		"Provider":     {reason: "Commands to the provider should not need another approval.", change: func(o *Object) { o.Annotations[common.AnnotationCancel] = "2" }, same: true},
		"Kubectl":      {reason: "Annotations of kubectl should not need another approval.", change: func(o *Object) { o.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{}" }, same: true},
		"Generation":   {reason: "The digest of the inputs covers changes of the spec.", change: func(o *Object) { o.Generation = 2 }, same: true},
	} {
		t.Run(name, func(t *testing.T) {
			now := was
			now.Annotations = maps.Clone(was.Annotations)
			tc.change(&now)

			if same := now.Digest(key) == was.Digest(key); same != tc.same {
				t.Errorf("%s\nDigest(...): same %t", tc.reason, same)
			}
		})
	}

	none, empty := Object{}, Object{Labels: map[string]string{}, Annotations: map[string]string{common.AnnotationCancel: "1"}}
	if none.Digest(key) != empty.Digest(key) {
		t.Error("Digest(...) should not depend on annotations that it leaves out.")
	}

	if was.Digest(key) == was.Digest([]byte("other")) {
		t.Error("Digest(...) should depend on the key.")
	}
}

// TestObjectOfNew has an object before and after it gets its external name.
func TestObjectOfNew(t *testing.T) {
	o := &metav1.ObjectMeta{Name: "site"}
	was := ObjectOf(o)
	o.Annotations = map[string]string{"crossplane.io/external-name": "site"}

	if key := []byte("key"); was.Digest(key) != ObjectOf(o).Digest(key) {
		t.Error("The digest of a new object should not change when it gets its external name.")
	}

	o.Annotations["crossplane.io/external-name"] = "other"

	if got := ObjectOf(o).Annotations["crossplane.io/external-name"]; got != "other" {
		t.Errorf("The external name should be that of the object, got %q", got)
	}
}

func TestObjectDigestStays(t *testing.T) {
	if diff := cmp.Diff("850a17a3a1d9ad2a84618c153c5c1c0f", Object{Labels: map[string]string{"a": "b"}}.Digest([]byte("key"))); diff != "" {
		t.Errorf("\nAn approval from before an upgrade should stay valid.\nDigest(...): -want, +got:\n%s", diff)
	}
}
