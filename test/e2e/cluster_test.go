package e2e

import (
	"bytes"
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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
)

// How long things may take. The garbage collector notices a new kind within half
// a minute, and deletes nothing that such a kind owns before.
const (
	maxWait  = 6 * time.Minute
	interval = 100 * time.Millisecond
)

// A cluster is the control plane as the tests see it.
type cluster struct {
	// Provider is the process of provider-ansible.
	Provider *provider

	stack *controlplane.Stack
	kube  client.Client
}

func newCluster(s *controlplane.Stack) (*cluster, error) {
	kube, err := s.Client()
	return &cluster{stack: s, kube: kube, Provider: &provider{stack: s, piece: s.Provider()}}, err
}

// Functions that a test's pipelines need beside ours.
func (c *cluster) Functions(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := c.stack.Function(t.Context(), name); err != nil {
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

func (o Object) unstructured() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(o.APIVersion)
	u.SetKind(o.Kind)
	u.SetNamespace(o.Namespace)
	u.SetName(o.Name)
	return u
}

func objectOf(u *unstructured.Unstructured) Object {
	return Object{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
}

// Namespace of this test's own. It goes away with the test.
func (c *cluster) Namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}
	if err := c.kube.Create(t.Context(), ns); err != nil {
		t.Fatalf("cannot create namespace: %s", err)
	}
	t.Cleanup(func() {
		if err := c.kube.Delete(context.Background(), ns); err != nil {
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
func (c *cluster) Apply(t *testing.T, manifests string, data any) []Object {
	t.Helper()
	us, err := parse(manifests, data)
	if err != nil {
		t.Fatalf("cannot parse manifests: %s", err)
	}
	out := make([]Object, len(us))
	for i, u := range us {
		out[i] = objectOf(u)
		fresh := c.kube.Get(t.Context(), client.ObjectKeyFromObject(u), out[i].unstructured()) != nil
		if err := c.apply(t.Context(), u); err != nil {
			t.Fatalf("cannot apply %s: %s", out[i], err)
		}
		switch {
		case slices.Contains([]string{"CompositeResourceDefinition", "CustomResourceDefinition"}, u.GetKind()):
			c.WaitFor(t, out[i], Condition("Established", "True"))
		case u.GetKind() == "Composition" || !fresh:
			// It stays, or is removed by the test that made it.
		default:
			t.Cleanup(func() { c.cleanUp(t, out[i]) })
		}
	}
	return out
}

func (c *cluster) apply(ctx context.Context, u *unstructured.Unstructured) error {
	return c.kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("e2e"), client.ForceOwnership)
}

// ApplyError applies manifests that the API server is to reject, and returns why
// it does.
func (c *cluster) ApplyError(t *testing.T, manifests string, data any) error {
	t.Helper()
	us, err := parse(manifests, data)
	if err != nil {
		t.Fatalf("cannot parse manifests: %s", err)
	}
	for _, u := range us {
		if err := c.apply(t.Context(), u); err != nil {
			return err
		}
		t.Cleanup(func() { c.cleanUp(t, objectOf(u)) })
	}
	return nil
}

// Delete an object, without waiting for its end.
func (c *cluster) Delete(t *testing.T, o Object) {
	t.Helper()
	if err := c.kube.Delete(t.Context(), o.unstructured()); err != nil {
		t.Fatalf("cannot delete %s: %s", o, err)
	}
}

// inUse is whether core's webhook has denied a deletion because of a Usage.
func inUse(err error) bool {
	return err != nil && strings.Contains(err.Error(), "This resource is in-use by")
}

// cleanUp what a test has left, with what it was composed of.
func (c *cluster) cleanUp(t *testing.T, o Object) {
	t.Helper()
	ctx := context.Background()
	u := o.unstructured()
	if err := c.kube.Get(ctx, client.ObjectKeyFromObject(u), u); kerrors.IsNotFound(err) {
		return
	}
	// The garbage collector would do that too, but up to half a minute later.
	composed := composedOf(u)
	for _, o := range append([]Object{o}, composed...) {
		// What another needs is denied until that is gone, and is deleted then.
		if err := c.kube.Delete(ctx, o.unstructured()); client.IgnoreNotFound(err) != nil && !inUse(err) {
			t.Errorf("cannot delete %s: %s", o, err)
		}
	}
	if t.Failed() {
		return // The objects may not be able to go, and the first failure is what counts.
	}
	for _, o := range append([]Object{o}, composed...) {
		if err := c.poll(ctx, o.unstructured(), kerrors.IsNotFound); err != nil {
			t.Errorf("%s does not go away: %s\n%s", o, err, c.describe(ctx, o))
		}
	}
}

// composedOf returns what an XR is composed of.
func composedOf(xr *unstructured.Unstructured) []Object {
	refs, _, _ := unstructured.NestedSlice(xr.Object, "spec", "crossplane", "resourceRefs")
	out := make([]Object, 0, len(refs))
	for _, r := range refs {
		ref := &corev1.ObjectReference{}
		m, ok := r.(map[string]any)
		if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(m, ref) != nil || ref.Name == "" {
			continue
		}
		ns := ref.Namespace
		if ns == "" {
			ns = xr.GetNamespace()
		}
		out = append(out, Object{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ns, Name: ref.Name})
	}
	return out
}

// Get an object.
func (c *cluster) Get(t *testing.T, o Object) *unstructured.Unstructured {
	t.Helper()
	u := o.unstructured()
	if err := c.kube.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		t.Fatalf("cannot get %s: %s", o, err)
	}
	return u
}

// List the objects of a kind in a namespace, or in all of them, by their names.
func (c *cluster) List(t *testing.T, apiVersion, kind, namespace string) []unstructured.Unstructured {
	t.Helper()
	l := &unstructured.UnstructuredList{}
	l.SetAPIVersion(apiVersion)
	l.SetKind(kind + "List")
	if err := c.kube.List(t.Context(), l, client.InNamespace(namespace)); err != nil {
		t.Fatalf("cannot list %s: %s", kind, err)
	}
	slices.SortFunc(l.Items, func(a, b unstructured.Unstructured) int {
		return strings.Compare(a.GetName(), b.GetName())
	})
	return l.Items
}

// Composed returns what an XR is composed of at the moment.
func (c *cluster) Composed(t *testing.T, xr Object) []Object {
	t.Helper()
	return composedOf(c.Get(t, xr))
}

// WaitFor an object to be as expected, and return it.
func (c *cluster) WaitFor(t *testing.T, o Object, want ...Expectation) *unstructured.Unstructured {
	t.Helper()
	u := o.unstructured()
	missing := func() []string {
		var out []string
		for _, w := range want {
			if !w.met(u) {
				out = append(out, w.text)
			}
		}
		return out
	}
	err := c.poll(t.Context(), u, func(err error) bool { return err == nil && len(missing()) == 0 })
	if err != nil {
		t.Fatalf("waited for %s to have %s: %s\n%s", o, strings.Join(missing(), ", "), err, c.describe(context.Background(), o))
	}
	return u
}

// WaitGone waits until there is no such object any more.
func (c *cluster) WaitGone(t *testing.T, o Object) {
	t.Helper()
	u := o.unstructured()
	if err := c.poll(t.Context(), u, kerrors.IsNotFound); err != nil {
		t.Fatalf("waited for %s to go away: %s\n%s", o, err, c.describe(context.Background(), o))
	}
}

// poll an object until what getting it returned will do.
func (c *cluster) poll(ctx context.Context, u *unstructured.Unstructured, will func(error) bool) error {
	return wait.PollUntilContextTimeout(ctx, interval, maxWait, true, func(ctx context.Context) (bool, error) {
		return will(c.kube.Get(ctx, client.ObjectKeyFromObject(u), u)), nil
	})
}

// describe an object as it is now, with the ends of the logs.
func (c *cluster) describe(ctx context.Context, o Object) string {
	s := &strings.Builder{}
	_, _ = fmt.Fprintf(s, "--- object\n%s\n", c.yaml(ctx, o))
	for _, name := range []string{"provider-ansible", "function-ansible", "crossplane"} {
		_, _ = fmt.Fprintf(s, "--- log of %s\n%s", name, c.stack.Tail(name, 4<<10))
	}
	return s.String()
}

// yaml of an object, or why there is none.
func (c *cluster) yaml(ctx context.Context, o Object) string {
	u := o.unstructured()
	if err := c.kube.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
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
func (c *cluster) Kubectl(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.stack.Tool("kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.stack.Kubeconfig())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %s\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// parse a template of manifests.
func parse(manifests string, data any) ([]*unstructured.Unstructured, error) {
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

// An Expectation of an object.
type Expectation struct {
	text string
	met  func(u *unstructured.Unstructured) bool
}

// Condition expects a condition with a status, of the object's current
// generation if it says of which one it is.
func Condition(kind, status string) Expectation {
	return Expectation{
		text: fmt.Sprintf("condition %s %s", kind, status),
		met: func(u *unstructured.Unstructured) bool {
			c := condition(u, kind)
			g, ok := c["observedGeneration"].(int64)
			return c["status"] == status && (!ok || g == u.GetGeneration())
		},
	}
}

// Reason expects a condition with a reason.
func Reason(kind, reason string) Expectation {
	return Expectation{
		text: fmt.Sprintf("condition %s with reason %s", kind, reason),
		met:  func(u *unstructured.Unstructured) bool { return condition(u, kind)["reason"] == reason },
	}
}

// Message expects a condition whose message contains a text.
func Message(kind, part string) Expectation {
	return Expectation{
		text: fmt.Sprintf("condition %s with %q in its message", kind, part),
		met: func(u *unstructured.Unstructured) bool {
			m, _ := condition(u, kind)["message"].(string)
			return strings.Contains(m, part)
		},
	}
}

// Field expects a value in a field, given as in status.atProvider.outputs.
func Field(path string, want any) Expectation {
	return Expectation{
		text: fmt.Sprintf("%v in %s", want, path),
		met:  func(u *unstructured.Unstructured) bool { return fmt.Sprint(field(u, path)) == fmt.Sprint(want) },
	}
}

// That expects that a function returns true.
func That(text string, met func(u *unstructured.Unstructured) bool) Expectation {
	return Expectation{text: text, met: met}
}

// labelInUse expects that core keeps an object from being deleted because of a Usage.
func labelInUse() Expectation {
	return That("the label of what is in use", func(u *unstructured.Unstructured) bool { return u.GetLabels()["crossplane.io/in-use"] == "true" })
}

// field of an object, nil if it is not there.
func field(u *unstructured.Unstructured, path string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(u.Object, strings.Split(path, ".")...)
	return v
}

// condition of an object, empty if it has none.
func condition(u *unstructured.Unstructured, kind string) map[string]any {
	cs, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range cs {
		if m, ok := c.(map[string]any); ok && m["type"] == kind {
			return m
		}
	}
	return nil
}
