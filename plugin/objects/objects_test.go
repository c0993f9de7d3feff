package objects

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	kmeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

var (
	runs  = schema.GroupVersionKind{Group: "ansible.m.crossplane.io", Version: "v1alpha1", Kind: "AnsibleRun"}
	sites = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Site"}
)

// site is an XR with references to a run of its own, to a run of another XR, to a run that
// does not exist, to an XR, to another object, and to objects that are not read.
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

// apiServer returns a client with the objects of site. It returns the errors that are set.
type apiServer struct {
	get, list error
	// read has the kinds of objects that were read one by one.
	read []string
	// patch is the last patch.
	patch string
}

func (a *apiServer) client(t *testing.T) *Client {
	t.Helper()

	mapper := kmeta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{runs, sites} {
		mapper.Add(kind, kmeta.RESTScopeNamespace)
	}

	b := fake.NewClientBuilder().WithRESTMapper(mapper).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
			a.read = append(a.read, o.GetObjectKind().GroupVersionKind().Kind)

			if a.get != nil {
				return a.get
			}

			return c.Get(ctx, key, o)
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if a.list != nil {
				return a.list
			}

			return c.List(ctx, l, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, _ ...client.PatchOption) error {
			data, _ := p.Data(o)
			a.patch = string(data)

			return c.Patch(ctx, o, p)
		},
	})

	for text := range strings.SplitSeq(site, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}

		b.WithObjects(o)
	}

	return New(b.Build(), func(kind schema.GroupVersionKind) bool { return kind == sites })
}

func TestTree(t *testing.T) {
	a := &apiServer{}
	c := a.client(t)
	root := corev1.ObjectReference{APIVersion: sites.GroupVersion().String(), Kind: sites.Kind, Namespace: "ns", Name: "site"}

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

	if slices.ContainsFunc(a.read, func(kind string) bool { return kind != runs.Kind && kind != sites.Kind }) {
		t.Errorf("Only AnsibleRuns and XRs should be read, got %v.", a.read)
	}

	a.list = kerrors.NewForbidden(schema.GroupResource{Resource: "ansibleruns"}, "", nil)
	if n, err = c.Tree(t.Context(), root); err != nil || !slices.Equal([]string{"mine", "unlabeled"}, names(n.All())) {
		t.Errorf("Without the right to list, want the runs that are named, got %v, %v", names(n.All()), err)
	}

	a.get = kerrors.NewTooManyRequests("later", 1)
	if _, err := c.Tree(t.Context(), root); !kerrors.IsTooManyRequests(err) {
		t.Errorf("An error that may pass should be one of the tree, and nothing be taken for gone, got %v", err)
	}
}

// TestAnnotate tests that a removed annotation is null, and that the patch has the UID of the object.
func TestAnnotate(t *testing.T) {
	a := &apiServer{}
	mine := &tree.Node{APIVersion: "ansible.m.crossplane.io/v1alpha1", Kind: "AnsibleRun", Namespace: "ns", Name: "mine", UID: "mine"}

	if err := a.client(t).Annotate(t.Context(), mine, "a", nil); err != nil {
		t.Fatal(err)
	}

	if want := `{"metadata":{"annotations":{"a":null},"uid":"mine"}}`; a.patch != want {
		t.Errorf("Annotate(...): want %s, got %s", want, a.patch)
	}
}

func names(nodes []*tree.Node) []string {
	var ns []string
	for _, n := range nodes {
		ns = append(ns, n.Name)
	}

	return ns
}
