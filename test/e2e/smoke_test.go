package e2e

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-ansible/crossplane-ansible/package-function/input"
	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// TestControlPlane says whether everything is in place that the other tests use.
func TestControlPlane(t *testing.T) {
	ns := cp.Namespace(t)
	objs := cp.Apply(t, definition{kind: "Smoke", scope: "Namespaced"}.String()+`
apiVersion: e2e.example.org/v1
kind: Smoke
metadata: {namespace: [[.]], name: smoke}
spec:
  text: hello
`, ns)
	if got := Value(cp.Get(t, objs[1]), "spec.text"); got != "hello" {
		t.Errorf("spec.text of the XR: want hello, got %v", got)
	}

	for _, resource := range []string{"ansibleruns.ansible.crossplane.io", "ansibleruns.ansible.m.crossplane.io"} {
		out := cp.Kubectl(t, "get", resource, "--all-namespaces")
		if !strings.Contains(out, "No resources found") {
			t.Errorf("kubectl get %s: want none, got:\n%s", resource, out)
		}
	}

	c := collection{Namespace: "acme", Name: "smoke", Version: "1.0.0", Files: map[string]string{
		"roles/hello/tasks/main.yml": "- ansible.builtin.debug: {msg: hello}\n",
	}}
	out := command(t, t.TempDir(), "ansible-galaxy", "collection", "install", "--collections-path=.", c.Tarball(t))
	if !strings.Contains(out, "acme.smoke:1.0.0 was installed successfully") {
		t.Errorf("ansible-galaxy: want acme.smoke installed from an archive, got:\n%s", out)
	}
	out = command(t, t.TempDir(), "ansible-galaxy", "collection", "install", "--collections-path=.", c.Git(t)+",1.0.0")
	if !strings.Contains(out, "acme.smoke:1.0.0 was installed successfully") {
		t.Errorf("ansible-galaxy: want acme.smoke installed from git, got:\n%s", out)
	}
}

// TestInput shows the schema of the function's input to the API server, which has
// limits of its own: before v2.2 core installs it.
func TestInput(t *testing.T) {
	t.Parallel()

	u := &unstructured.Unstructured{}
	must(t, yaml.Unmarshal(input.Schema, &u.Object))
	must(t, cp.Kube.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("e2e"), client.DryRunAll))
}
