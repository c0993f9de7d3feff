package e2e

import (
	_ "embed"
	"os"
	"path/filepath"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

//go:embed testdata/provider-ansible.yaml
var providerAnsible string

// TestProviderAnsibleManifests applies what the documentation of
// provider-ansible shows, and expects what the text says.
func TestProviderAnsibleManifests(t *testing.T) {
	t.Parallel()

	d := data{Namespace: cp.Namespace(t), Directory: directory(t)}
	needs.Write(t, d.Directory, map[string]string{
		"roles/sample_namespace.sample_role/tasks/main.yml": `
- ansible.builtin.set_stats:
    data:
      text: "{{ foo }} {{ bar[0] }} {{ baz['field 1'] }}"
`,
		"roles/sample_namespace.openshift_cluster/tasks/main.yml": `
- include_tasks: setup-resource.yml
  when: ansible_provider_meta.managed_resource.state == 'present'
- include_tasks: cleanup-resource.yml
  when: ansible_provider_meta.managed_resource.state == 'absent'
`,
		"roles/sample_namespace.openshift_cluster/tasks/setup-resource.yml": `
- ansible.builtin.copy: {dest: "` + d.Directory + `/cluster", content: "{{ ocpVersion }} {{ platform }} {{ size }} {{ ansible_provider_meta['v08-openshift-cluster'].state }}"}
`,
		"roles/sample_namespace.openshift_cluster/tasks/cleanup-resource.yml": `
- ansible.builtin.file: {path: "` + d.Directory + `/cluster", state: absent}
`,
	})
	// Plays of the provider read them.
	needs.OK(t, os.MkdirAll(filepath.Join(d.Directory, "collections"), 0o755))

	cp.Apply(t, `
apiVersion: v1
kind: ConfigMap
metadata: {namespace: [[.Namespace]], name: plain-vars}
data:
  plain_vars.yml: |
    foo: plain
    bar: [listed]
    baz: {field 1: replaced}
---
apiVersion: v1
kind: Secret
metadata: {namespace: [[.Namespace]], name: secret-vars}
stringData:
  secret_vars.yml: |
    baz: {field 1: stronger}
`, d)

	objs := map[string]Object{}
	for _, o := range cp.Apply(t, providerAnsible, d) {
		objs[o.Name] = o
	}

	for _, name := range []string{"v08-roles", "v08-playbooks", "v08-nginx", "v08-check"} {
		cp.WaitFor(t, objs[name], Reason("Synced", "ReconcilePaused"))
	}

	ready := func(name string, also ...Expectation) {
		t.Helper()
		cp.WaitFor(t, objs[name], append(also, Condition("Ready", "True"), Condition("Synced", "True"))...)
	}
	ready("v08-inline-example")
	ready("v08-vars", Field("status.atProvider.outputs.text", "value1 value2 value1"))
	// What comes from a Secret is not shown, and nothing is shown in its place.
	ready("v08-var-files", Field("status.atProvider.outputs.text", nil),
		Message("OutputsWithheld", `output "text": key secret_vars.yml of Secret secret-vars is in it`))
	ready("v08-openshift-cluster")

	cluster := filepath.Join(d.Directory, "cluster")
	if got := readFile(t, cluster); got != "4.8.27 x large present" {
		t.Errorf("The variables should have reached the role: got %q", got)
	}

	cp.Delete(t, objs["v08-openshift-cluster"])
	cp.WaitGone(t, objs["v08-openshift-cluster"])
	if exists(cluster) {
		t.Error("The role should have run with state absent before the object went.")
	}
}
