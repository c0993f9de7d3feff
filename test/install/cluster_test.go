package install

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
)

// How long things may take. A provider that lost its rights keeps its lease for a
// minute.
const (
	patience = 4 * time.Minute
	interval = 100 * time.Millisecond
)

// A plane is the control plane as its users see it.
type plane struct {
	stack *controlplane.Stack
	kube  client.Client
	pods  corev1client.PodInterface

	// installed says whether a test has installed the packages.
	installed bool
}

func newPlane(s *controlplane.Stack) (*plane, error) {
	cfg, err := s.Config()
	if err != nil {
		return nil, err
	}
	kube, err := client.New(cfg, client.Options{})
	if err != nil {
		return nil, err
	}
	core, err := corev1client.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return &plane{stack: s, kube: kube, pods: core.Pods(controlplane.Namespace)}, nil
}

// Pods of Crossplane's namespace that have a text in their names, oldest first.
func (c *plane) Pods(t *testing.T, part string) []corev1.Pod {
	t.Helper()
	l, err := c.pods.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("cannot list Pods: %s", err)
	}
	out := slices.DeleteFunc(l.Items, func(p corev1.Pod) bool { return !strings.Contains(p.Name, part) })
	slices.SortStableFunc(out, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return out
}

// Log of a Pod; what there is of it, or why there is none.
func (c *plane) Log(ctx context.Context, pod string) string {
	b, err := c.pods.GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(ctx)
	if err != nil {
		return err.Error() + "\n"
	}
	return string(b)
}

// object by its kind and name.
func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, kind))
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// Kubectl as a user runs it, with manifests on its standard input.
func (c *plane) Kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := c.command(t.Context(), args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %s\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// command of kubectl.
func (c *plane) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.stack.Tool("kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.stack.Kubeconfig())
	return cmd
}

// Apply manifests.
func (c *plane) Apply(t *testing.T, manifests string) {
	t.Helper()
	c.Kubectl(t, manifests, "apply", "--server-side", "-f", "-")
}

// WaitFor an object to have conditions with these statuses, as in Ready=True.
func (c *plane) WaitFor(t *testing.T, u *unstructured.Unstructured, conditions ...string) {
	t.Helper()
	c.WaitUntil(t, u, strings.Join(conditions, " and "), func(u *unstructured.Unstructured) bool {
		for _, want := range conditions {
			kind, status, _ := strings.Cut(want, "=")
			if condition(u, kind)["status"] != status {
				return false
			}
		}
		return true
	})
}

// WaitUntil something is true of an object.
func (c *plane) WaitUntil(t *testing.T, u *unstructured.Unstructured, what string, is func(*unstructured.Unstructured) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), interval, patience, true, func(ctx context.Context) (bool, error) {
		return c.kube.Get(ctx, client.ObjectKeyFromObject(u), u) == nil && is(u), nil
	})
	if err != nil {
		t.Fatalf("waited for %s of %s %s: %s\n%s", what, u.GetKind(), u.GetName(), err, c.explain(u))
	}
}

// WaitGone waits until there is no such object any more.
func (c *plane) WaitGone(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), interval, patience, true, func(ctx context.Context) (bool, error) {
		return kerrors.IsNotFound(c.kube.Get(ctx, client.ObjectKeyFromObject(u), u)), nil
	})
	if err != nil {
		t.Fatalf("waited for %s %s to go: %s\n%s", u.GetKind(), u.GetName(), err, c.explain(u))
	}
}

// explain an object by what is known of it, and of what runs.
func (c *plane) explain(u *unstructured.Unstructured) string {
	u.SetManagedFields(nil)
	b, err := yaml.Marshal(u.Object)
	if err != nil {
		b = []byte(err.Error())
	}
	return fmt.Sprintf("--- object\n%s%s", b, c.evidence())
}

// evidence of what packages there are, and what runs of them.
func (c *plane) evidence() string {
	s := &strings.Builder{}
	ctx := context.Background()
	for _, kinds := range []string{"pkg,pkgrev,deployments,pods,leases", "events"} {
		out, _ := c.command(ctx, "get", kinds, "--namespace="+controlplane.Namespace, "--show-kind").CombinedOutput()
		_, _ = fmt.Fprintf(s, "--- %s\n%s", kinds, out)
	}
	if l, err := c.pods.List(ctx, metav1.ListOptions{}); err == nil {
		for _, p := range l.Items {
			text := c.Log(ctx, p.Name)
			_, _ = fmt.Fprintf(s, "--- log of %s\n%s", p.Name, text[max(0, len(text)-6<<10):])
		}
	}
	_, _ = fmt.Fprintf(s, "--- log of crossplane\n%s", c.stack.Tail("crossplane", 2<<10))
	return s.String()
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

// field of an object as text, given as in status.atProvider.lastRun.id.
func field(u *unstructured.Unstructured, path string) string {
	v, ok, _ := unstructured.NestedFieldNoCopy(u.Object, strings.Split(path, ".")...)
	if !ok {
		return ""
	}
	return fmt.Sprint(v)
}

// eventually waits until something is true that is not in the API.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), interval, patience, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("waited for %s: %s\n%s", what, err, cp.evidence())
	}
}
