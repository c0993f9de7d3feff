package install

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// podsOf Crossplane's namespace that have a text in their names, oldest first.
func podsOf(t *testing.T, part string) []corev1.Pod {
	t.Helper()
	l := &corev1.PodList{}
	needs.OK(t, cp.Kube.List(t.Context(), l, client.InNamespace(controlplane.Namespace)))
	out := slices.DeleteFunc(l.Items, func(p corev1.Pod) bool { return !strings.Contains(p.Name, part) })
	slices.SortStableFunc(out, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return out
}

// kubectl in Crossplane's namespace: what it prints, or why it fails.
func kubectl(args ...string) string {
	out, _ := cp.TryKubectl(append(args, "--namespace="+controlplane.Namespace)...)
	return out
}

// object by its kind and name.
func object(apiVersion, kind, namespace, name string) Object {
	return Object{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}
}

// apply manifests as a user does. What other tests need stays.
func apply(t *testing.T, manifests string) {
	t.Helper()
	dir := t.TempDir()
	needs.Write(t, dir, map[string]string{"manifests.yaml": manifests})
	cp.Kubectl(t, "apply", "--server-side", "-f", dir)
}

// explainFailure of a test by what there is at its end: what packages, and what runs of them.
func explainFailure(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		s := &strings.Builder{}
		for _, kinds := range []string{"pkg,pkgrev,deployments,pods,leases", "events"} {
			_, _ = fmt.Fprintf(s, "--- %s\n%s", kinds, kubectl("get", kinds, "--show-kind"))
		}
		for pod := range strings.FieldsSeq(kubectl("get", "pods", "--output=name")) {
			_, _ = fmt.Fprintf(s, "--- log of %s\n%s", pod, kubectl("logs", "--tail=50", pod))
		}
		t.Logf("%s--- log of crossplane\n%s", s, cp.Stack.Tail("crossplane", 2<<10))
	})
}
