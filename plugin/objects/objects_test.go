package objects

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	kmeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	ktesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

var (
	runs  = schema.GroupVersionKind{Group: "ansible.m.crossplane.io", Version: "v1alpha1", Kind: "AnsibleRun"}
	sites = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Site"}
	disks = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Disk"}
)

// site is an XR that refers to a run of its own, to one that it shall not have, to one that
// is not there, to an XR, to another object, and to objects that no look is taken at.
const site = `
apiVersion: example.org/v1
kind: Site
metadata: {namespace: ns, name: site, uid: site}
spec:
  crossplane:
    resourceRefs:
    - {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, name: mine}
    - {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, name: foreign, namespace: other}
    - {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, name: unlabeled}
    - {apiVersion: ansible.m.crossplane.io/v1alpha1, kind: AnsibleRun, name: nowhere}
    - {apiVersion: example.org/v1, kind: Site, name: part}
    - {apiVersion: example.org/v1, kind: Disk, name: disk}
    - {apiVersion: v1, kind: Secret, name: secret}
    - {apiVersion: protection.crossplane.io/v1beta1, kind: Usage, name: usage}
---
apiVersion: example.org/v1
kind: Site
metadata: {namespace: ns, name: part, uid: part, ownerReferences: [{uid: site, controller: true}]}
spec: {crossplane: {resourceRefs: [{apiVersion: example.org/v1, kind: Site, name: site}]}}
---
apiVersion: example.org/v1
kind: Disk
metadata: {namespace: ns, name: disk, uid: disk, ownerReferences: [{uid: site, controller: true}]}
status: {conditions: [{type: Ready}]}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: ns, name: mine, uid: mine, labels: {ansible.fn.crossplane.io/composite-uid: site}, ownerReferences: [{uid: site, controller: true}]}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: ns, name: leaving, uid: leaving, labels: {ansible.fn.crossplane.io/composite-uid: site}, ownerReferences: [{uid: site, controller: true}]}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: ns, name: unlabeled, uid: unlabeled, ownerReferences: [{uid: site, controller: true}]}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: ns, name: pretends, uid: pretends, labels: {ansible.fn.crossplane.io/composite-uid: site}}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: other, name: foreign, uid: foreign}
`

func client(t *testing.T) (*Client, *fake.FakeDynamicClient) {
	t.Helper()

	var objs []runtime.Object

	for text := range strings.SplitSeq(site, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}

		objs = append(objs, o)
	}

	mapper := kmeta.NewDefaultRESTMapper(nil)
	lists := map[schema.GroupVersionResource]string{}

	for _, kind := range []schema.GroupVersionKind{runs, sites, disks} {
		mapper.Add(kind, kmeta.RESTScopeNamespace)

		plural, _ := kmeta.UnsafeGuessKindToResource(kind)
		lists[plural] = kind.Kind + "List"
	}

	d := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, objs...)

	return New(d, mapper), d
}

func TestTree(t *testing.T) {
	c, d := client(t)
	root := tree.Reference{GroupVersionKind: sites, Namespace: "ns", Name: "site"}

	n, err := c.Tree(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]string{"leaving", "mine", "unlabeled"}, names(n.All())); diff != "" {
		t.Errorf("An XR should have the runs that it controls: -want, +got:\n%s", diff)
	}

	if diff := cmp.Diff([]string{"site", "part"}, names(n.Composites())); diff != "" {
		t.Errorf("An XR should have the XRs that it controls: -want, +got:\n%s", diff)
	}

	if diff := cmp.Diff([]string{"AnsibleRun foreign is named in resourceRefs, but does not belong to this object"}, n.Notes); diff != "" {
		t.Errorf("What is foreign should be told: -want, +got:\n%s", diff)
	}

	// What is known not to be an XR is not read again.
	d.ClearActions()

	if _, err := c.Tree(t.Context(), root); err != nil {
		t.Fatal(err)
	}

	for _, a := range d.Actions() {
		if r := a.GetResource().Resource; r == "disks" || r == "secrets" || r == "usages" {
			t.Errorf("There should be no look at %s.", r)
		}
	}

	// Without the right to list runs, those that are named may still be read.
	d.PrependReactor("list", "ansibleruns", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, kerrors.NewForbidden(schema.GroupResource{Resource: "ansibleruns"}, "", nil)
	})

	if n, err = c.Tree(t.Context(), root); err != nil || !cmp.Equal([]string{"mine", "unlabeled"}, names(n.All())) {
		t.Errorf("Without the right to list, want the runs that are named, got %v, %v", names(n.All()), err)
	}

	// Errors that may pass are errors: nothing is taken for gone.
	d.PrependReactor("get", "ansibleruns", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, kerrors.NewTooManyRequests("later", 1)
	})

	if _, err := c.Tree(t.Context(), root); !kerrors.IsTooManyRequests(err) {
		t.Errorf("An error of the API server should be one of the tree, got %v", err)
	}
}

func TestAnnotate(t *testing.T) {
	c, d := client(t)
	mine := &tree.Node{APIVersion: "ansible.m.crossplane.io/v1alpha1", Kind: "AnsibleRun", Namespace: "ns", Name: "mine", UID: "mine"}

	for _, value := range []any{"v", nil} {
		if err := c.Annotate(t.Context(), mine, "a", value); err != nil {
			t.Fatal(err)
		}

		got, set := get(t, c).GetAnnotations()["a"]
		if set != (value != nil) || set && got != value {
			t.Errorf("Annotate(%v): got %q", value, got)
		}
	}

	last, _ := d.Actions()[len(d.Actions())-2].(ktesting.PatchAction)
	if last == nil || string(last.GetPatch()) != `{"metadata":{"annotations":{"a":null},"uid":"mine"}}` {
		t.Errorf("A patch should be for this very object, got %v", last)
	}
}

func get(t *testing.T, c *Client) *unstructured.Unstructured {
	t.Helper()

	o, err := c.get(t.Context(), tree.Reference{GroupVersionKind: runs, Namespace: "ns", Name: "mine"})
	if err != nil {
		t.Fatal(err)
	}

	return o
}

func names(nodes []*tree.Node) []string {
	var ns []string
	for _, n := range nodes {
		ns = append(ns, n.Name)
	}

	return ns
}
