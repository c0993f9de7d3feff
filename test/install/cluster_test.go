package install

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// A plane is the control plane as its users see it.
type plane struct {
	*Cluster

	pods corev1client.PodInterface

	// installed says whether a test has installed the packages.
	installed bool
}

func newPlane(s *controlplane.Stack) (*plane, error) {
	cfg, err := s.Config()
	if err != nil {
		return nil, err
	}
	core, err := corev1client.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	c, err := New(s)
	return &plane{Cluster: c, pods: core.Pods(controlplane.Namespace)}, err
}

// Pods of Crossplane's namespace that have a text in their names, oldest first.
func (c *plane) Pods(t *testing.T, part string) []corev1.Pod {
	t.Helper()
	l, err := c.pods.List(t.Context(), metav1.ListOptions{})
	needs.OK(t, err)
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
func object(apiVersion, kind, namespace, name string) Object {
	return Object{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}
}

// command of kubectl.
func (c *plane) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Stack.Tool("kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Stack.Kubeconfig())
	return cmd
}

// Apply manifests as a user does. What other tests need stays.
func (c *plane) Apply(t *testing.T, manifests string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	needs.OK(t, os.WriteFile(file, []byte(manifests), 0o600))
	c.Kubectl(t, "apply", "--server-side", "-f", file)
}

// explainFailure of a test by what there is at its end.
func (c *plane) explainFailure(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.evidence())
		}
	})
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
	_, _ = fmt.Fprintf(s, "--- log of crossplane\n%s", c.Stack.Tail("crossplane", 2<<10))
	return s.String()
}
