// Package cluster is a control plane as tests see it that users could have written: they apply
// manifests, and wait for what objects show.
package cluster

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource/unstructured/composite"

	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// How long things may take. The garbage collector notices a new kind within half
// a minute, and deletes nothing that such a kind owns before.
const (
	maxWait  = 10 * time.Minute
	interval = 250 * time.Millisecond
)

// A Cluster is the control plane as the tests see it.
type Cluster struct {
	// Provider is the process of provider-ansible.
	Provider *Provider

	// Stack that the control plane is made of.
	Stack *controlplane.Stack
	// Kube is a client that may do everything.
	Kube client.Client
}

// New cluster on a stack that is up. The provider has the flags of the stack.
func New(s *controlplane.Stack) (*Cluster, error) {
	kube, err := s.Client()
	return &Cluster{Stack: s, Kube: kube, Provider: &Provider{stack: s, Piece: s.Provider()}}, err
}

// Functions that a test's pipelines need beside ours.
func (c *Cluster) Functions(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := c.Stack.Function(t.Context(), name); err != nil {
			t.Fatalf("cannot use a function that make test-e2e builds: %s", err)
		}
	}
}

// An Object is the name of something in the API.
type Object struct {
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
}

// String as in messages.
func (o Object) String() string {
	return strings.Trim(fmt.Sprintf("%s %s/%s", o.Kind, o.Namespace, o.Name), "/")
}

// Unstructured object with the name, and nothing else.
func (o Object) Unstructured() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(o.APIVersion)
	u.SetKind(o.Kind)
	u.SetNamespace(o.Namespace)
	u.SetName(o.Name)
	return u
}

// ObjectOf is the name of an object.
func ObjectOf(u *unstructured.Unstructured) Object {
	return Object{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
}

// Namespace of this test's own. It goes away with the test.
func (c *Cluster) Namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}
	needs.OK(t, c.Kube.Create(t.Context(), ns))
	t.Cleanup(func() {
		if err := c.Kube.Delete(context.Background(), ns); err != nil {
			t.Errorf("cannot delete namespace: %s", err)
		}
	})
	return ns.GetName()
}

// Apply manifests as kubectl apply --server-side does. They are a template with
// [[ and ]], which neither Jinja2 nor CEL mind, for the given data. A definition
// is waited for before what follows it is applied. When the test is over what
// was applied is deleted, last first; but definitions and what belongs to them
// stay.
func (c *Cluster) Apply(t *testing.T, manifests string, data any) []Object {
	t.Helper()
	us, err := Parse(manifests, data)
	needs.OK(t, err)
	out := make([]Object, len(us))
	for i, u := range us {
		out[i] = ObjectOf(u)
		fresh := c.Kube.Get(t.Context(), client.ObjectKeyFromObject(u), out[i].Unstructured()) != nil
		if err := c.ServerApply(t.Context(), u); err != nil {
			t.Fatalf("cannot apply %s: %s", out[i], err)
		}
		switch {
		case slices.Contains([]string{"CompositeResourceDefinition", "CustomResourceDefinition"}, u.GetKind()):
			c.WaitFor(t, out[i], Condition("Established", "True"))
		case u.GetKind() == "Composition" || !fresh:
			// It stays, or is removed by the test that made it.
		default:
			t.Cleanup(func() { c.CleanUp(t, out[i]) })
		}
	}
	return out
}

// Account is a template of a service account with the rights of one rule in the namespace of the data.
func Account(name, rule string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: ServiceAccount
metadata: {namespace: [[.Namespace]], name: %[1]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {namespace: [[.Namespace]], name: %[1]s}
rules: [%[2]s]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: [[.Namespace]], name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}
subjects: [{kind: ServiceAccount, namespace: [[.Namespace]], name: %[1]s}]
---
`, name, rule)
}

// ServerApply an object, and leave it there.
func (c *Cluster) ServerApply(ctx context.Context, u *unstructured.Unstructured) error {
	return c.Kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("e2e"), client.ForceOwnership)
}

// Patch an object as kubectl patch --type=merge does.
func (c *Cluster) Patch(t *testing.T, o Object, merge string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(merge))
	if err := c.Kube.Patch(t.Context(), o.Unstructured(), patch); err != nil {
		t.Fatalf("cannot patch %s: %s", o, err)
	}
}

// Delete an object, without waiting for its end.
func (c *Cluster) Delete(t *testing.T, o Object) {
	t.Helper()
	if err := c.Kube.Delete(t.Context(), o.Unstructured()); err != nil {
		t.Fatalf("cannot delete %s: %s", o, err)
	}
}

// inUse is whether core's webhook has denied a deletion because of a Usage.
func inUse(err error) bool {
	return err != nil && strings.Contains(err.Error(), "This resource is in-use by")
}

// CleanUp what a test has left, with what it was composed of.
func (c *Cluster) CleanUp(t *testing.T, o Object) {
	t.Helper()
	ctx := context.Background()
	u := o.Unstructured()
	if err := c.Kube.Get(ctx, client.ObjectKeyFromObject(u), u); kerrors.IsNotFound(err) {
		return
	}
	// The garbage collector would do that too, but up to half a minute later.
	composed := ComposedOf(u)
	for _, o := range append([]Object{o}, composed...) {
		// What another needs is denied until that is gone, and is deleted then.
		if err := c.Kube.Delete(ctx, o.Unstructured()); client.IgnoreNotFound(err) != nil && !inUse(err) {
			t.Errorf("cannot delete %s: %s", o, err)
		}
	}
	if t.Failed() {
		return // The objects may not be able to go, and the first failure is what counts.
	}
	for _, o := range append([]Object{o}, composed...) {
		if err := c.poll(ctx, o.Unstructured(), kerrors.IsNotFound); err != nil {
			t.Errorf("%s does not go away: %s\n%s", o, err, c.Describe(ctx, o))
		}
	}
}

// ComposedOf returns what an XR is composed of.
func ComposedOf(xr *unstructured.Unstructured) []Object {
	var out []Object
	for _, r := range (&composite.Unstructured{Unstructured: *xr}).GetResourceReferences() {
		if r.Name != "" {
			ns := cmp.Or(r.Namespace, xr.GetNamespace())
			out = append(out, Object{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: ns, Name: r.Name})
		}
	}
	return out
}

// Get an object.
func (c *Cluster) Get(t *testing.T, o Object) *unstructured.Unstructured {
	t.Helper()
	u := o.Unstructured()
	if err := c.Kube.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		t.Fatalf("cannot get %s: %s", o, err)
	}
	return u
}

// List the objects of a kind in a namespace, or in all of them, by their names.
func (c *Cluster) List(t *testing.T, apiVersion, kind, namespace string) []unstructured.Unstructured {
	t.Helper()
	l := &unstructured.UnstructuredList{}
	l.SetAPIVersion(apiVersion)
	l.SetKind(kind + "List")
	if err := c.Kube.List(t.Context(), l, client.InNamespace(namespace)); err != nil {
		t.Fatalf("cannot list %s: %s", kind, err)
	}
	slices.SortFunc(l.Items, func(a, b unstructured.Unstructured) int {
		return strings.Compare(a.GetName(), b.GetName())
	})
	return l.Items
}

// Composed returns what an XR is composed of at the moment.
func (c *Cluster) Composed(t *testing.T, xr Object) []Object {
	t.Helper()
	return ComposedOf(c.Get(t, xr))
}

// WaitFor an object to be as expected, and return it.
func (c *Cluster) WaitFor(t *testing.T, o Object, want ...Expectation) *unstructured.Unstructured {
	t.Helper()
	u := o.Unstructured()
	missing := func() []string {
		var out []string
		for _, w := range want {
			if !w.Met(u) {
				out = append(out, w.text)
			}
		}
		return out
	}
	err := c.poll(t.Context(), u, func(err error) bool { return err == nil && len(missing()) == 0 })
	if err != nil {
		t.Fatalf("waited for %s to have %s: %s\n%s", o, strings.Join(missing(), ", "), err,
			c.Describe(context.Background(), o))
	}
	return u
}

// WaitGone waits until there is no such object any more.
func (c *Cluster) WaitGone(t *testing.T, o Object) {
	t.Helper()
	u := o.Unstructured()
	if err := c.poll(t.Context(), u, kerrors.IsNotFound); err != nil {
		t.Fatalf("waited for %s to go away: %s\n%s", o, err, c.Describe(context.Background(), o))
	}
}

// poll an object until what getting it returned will do.
func (c *Cluster) poll(ctx context.Context, u *unstructured.Unstructured, will func(error) bool) error {
	return wait.PollUntilContextTimeout(ctx, interval, maxWait, true, func(ctx context.Context) (bool, error) {
		return will(c.Kube.Get(ctx, client.ObjectKeyFromObject(u), u)), nil
	})
}

// WaitResumed waits until core composes an XR again that was paused. While its circuit breaker is open for the XR, core
// may miss that; of the changes that follow it sees one every 30 s.
func (c *Cluster) WaitResumed(t *testing.T, xr Object) {
	t.Helper()
	changes := 0
	Eventually(t, "core to compose "+xr.String()+" again", func() bool {
		u := c.Get(t, xr)
		if !Reason("Synced", "ReconcilePaused").Met(u) {
			return true
		}
		if ConditionOf(u, "Responsive")["status"] == "False" {
			changes++
			c.Patch(t, xr, fmt.Sprintf(`{"metadata": {"annotations": {"test": "%d"}}}`, changes))
		}
		return false
	})
}

// Eventually waits until something is true that is not in the API.
func Eventually(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	if err := Await(tb.Context(), is); err != nil {
		tb.Fatalf("waited for %s: %s", what, err)
	}
}

// Await something to be true.
func Await(ctx context.Context, is func() bool) error {
	return wait.PollUntilContextTimeout(ctx, interval, maxWait, true,
		func(context.Context) (bool, error) { return is(), nil })
}

// Metric is the sum of the samples that a process serves at a URL with a name and all these labels, as in mode="Apply".
func Metric(tb testing.TB, url, name string, labels ...string) (sum float64) {
	tb.Helper()
	all, err := controlplane.Metrics(tb.Context(), url)
	needs.OK(tb, err)
	for sample, v := range all {
		n, _, _ := strings.Cut(sample, "{")
		if n == name && !slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(sample, l) }) {
			sum += v
		}
	}
	return sum
}

// Describe an object as it is now, with the ends of the logs.
func (c *Cluster) Describe(ctx context.Context, o Object) string {
	s := &strings.Builder{}
	_, _ = fmt.Fprintf(s, "--- object\n%s\n", c.YAML(ctx, o))
	for _, name := range []string{"provider-ansible", "function-ansible", "crossplane"} {
		_, _ = fmt.Fprintf(s, "--- log of %s\n%s", name, c.Stack.Tail(name, 4<<10))
	}
	return s.String()
}

// YAML of an object, or why there is none.
func (c *Cluster) YAML(ctx context.Context, o Object) string {
	u := o.Unstructured()
	if err := c.Kube.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
		return err.Error()
	}
	u.SetManagedFields(nil)
	b, err := yaml.Marshal(u)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Kubectl runs kubectl as the user of the control plane and returns what it
// prints.
func (c *Cluster) Kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.TryKubectl(args...)
	if err != nil {
		t.Fatalf("kubectl %s: %s\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// TryKubectl is Kubectl for commands that may fail. Its output has the message then.
func (c *Cluster) TryKubectl(args ...string) (string, error) {
	cmd := exec.Command(c.Stack.Tool("kubectl"), args...) //nolint:noctx // Cleanups have no context.
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Stack.Kubeconfig())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Parse a template of manifests.
func Parse(manifests string, data any) ([]*unstructured.Unstructured, error) {
	tmpl, err := template.New("manifests").Delims("[[", "]]").Option("missingkey=error").Parse(manifests)
	if err != nil {
		return nil, errors.Wrap(err, "cannot parse template")
	}
	b := &bytes.Buffer{}
	if err := tmpl.Execute(b, data); err != nil {
		return nil, errors.Wrap(err, "cannot execute template")
	}
	var out []*unstructured.Unstructured
	d := utilyaml.NewYAMLOrJSONDecoder(b, 4096)
	for {
		u := &unstructured.Unstructured{}
		err := d.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, errors.Wrap(err, "cannot parse YAML")
		}
		if len(u.Object) > 0 {
			out = append(out, u)
		}
	}
}
