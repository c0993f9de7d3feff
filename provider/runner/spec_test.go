package runner

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// TestObjectDigest: an approval of a run covers what the content is told about its object.
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
		"Label":        {reason: "Labels can be read.", change: func(o *Object) { o.Labels = map[string]string{"tier": "b"} }},
		"Annotation":   {reason: "So can annotations.", change: func(o *Object) { o.Annotations["example.org/text"] = "b" }},
		"Plain":        {reason: "Some have no domain.", change: func(o *Object) { o.Annotations["text"] = "b" }},
		"Alike":        {reason: "A domain that only looks like Crossplane's is another.", change: func(o *Object) { o.Annotations["notcrossplane.io/text"] = "b" }},
		"ExternalName": {reason: "Content may take the name of the target from here.", change: func(o *Object) { o.Annotations["crossplane.io/external-name"] = "b" }},
		"Resource":     {reason: "Or the name that the Composition has for it.", change: func(o *Object) { o.Annotations["crossplane.io/composition-resource-name"] = "b" }},
		"Owner":        {reason: "So may it from the XR.", change: func(o *Object) { o.Owner.Name = "db" }},
		"Crossplane":   {reason: "Machines and requests should ask for no other approval.", change: func(o *Object) { o.Annotations["crossplane.io/reconcile-requested-at"] = "b" }, same: true},
		"Provider":     {reason: "Nor should what is said to the provider.", change: func(o *Object) { o.Annotations[common.AnnotationCancel] = "2" }, same: true},
		"Kubectl":      {reason: "Nor should what kubectl notes.", change: func(o *Object) { o.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{}" }, same: true},
		"Generation":   {reason: "The inputs have a digest of their own.", change: func(o *Object) { o.Generation = 2 }, same: true},
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
		t.Error("Digest(...) should not depend on whether there are annotations that it is without.")
	}

	if was.Digest(key) == was.Digest([]byte("other")) {
		t.Error("Digest(...) should depend on the key.")
	}
}

// TestObjectOfNew is told of an object before and after it has got its external name.
func TestObjectOfNew(t *testing.T) {
	o := &metav1.ObjectMeta{Name: "site"}
	was := ObjectOf(o)
	o.Annotations = map[string]string{"crossplane.io/external-name": "site"}

	if key := []byte("key"); was.Digest(key) != ObjectOf(o).Digest(key) {
		t.Error("A check of a new object should be one of what is applied later.")
	}

	o.Annotations["crossplane.io/external-name"] = "other"

	if got := ObjectOf(o).Annotations["crossplane.io/external-name"]; got != "other" {
		t.Errorf("The external name should be the one that the object has, got %q", got)
	}
}

func TestObjectDigestStays(t *testing.T) {
	if diff := cmp.Diff("850a17a3a1d9ad2a84618c153c5c1c0f", Object{Labels: map[string]string{"a": "b"}}.Digest([]byte("key"))); diff != "" {
		t.Errorf("\nWhat was approved before an upgrade still is.\nDigest(...): -want, +got:\n%s", diff)
	}
}
