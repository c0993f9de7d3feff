package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// Kinds of AnsibleRun, and of the XRs that become them.
const (
	apiNamespaced = "ansible.m.crossplane.io/v1alpha1"
	apiCluster    = "ansible.crossplane.io/v1alpha1"
	apiXR         = "e2e.example.org/v1"
)

// site is a collection with roles that write pages into a directory, and remove them.
func site() collection {
	return collection{Namespace: "acme", Name: "site", Version: "1.0.0", Files: map[string]string{
		"roles/page/tasks/main.yml": `
- name: Refuse to remove a locked page
  ansible.builtin.stat:
    path: "{{ directory }}/locked"
  register: locked
  failed_when: locked.stat.exists and ansible_provider_meta.managed_resource.state == 'absent'
- name: Write the page
  ansible.builtin.copy:
    dest: "{{ directory }}/page"
    content: "{{ title }}"
    mode: "0600"
  when: ansible_provider_meta.managed_resource.state == 'present'
- name: Remove the page
  ansible.builtin.file:
    path: "{{ directory }}/page"
    state: absent
  when: ansible_provider_meta.managed_resource.state == 'absent'
- name: Tell where the page is
  ansible.builtin.set_stats:
    data:
      path: "{{ directory }}/page"
`,
		"roles/first/tasks/main.yml": ledger("first"),
	}}
}

// ledger is a task that notes that it was run.
func ledger(line string) string {
	return fmt.Sprintf(`
- name: Note %[1]s
  ansible.builtin.shell: echo %[1]s >> {{ directory | quote }}/ledger
`, line)
}

// directory for the pages of a test, which plays may write to.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	needs.OK(t, err)
	return dir
}

// touch a file.
func touch(t *testing.T, path string) {
	t.Helper()
	needs.OK(t, os.WriteFile(path, nil, 0o600))
}

// composedRun is the AnsibleRun that an XR is composed of, once there is one.
func composedRun(t *testing.T, xr Object) Object {
	t.Helper()
	u := cp.WaitFor(t, xr, That("an AnsibleRun", func(u *unstructured.Unstructured) bool { return len(ComposedOf(u)) > 0 }))
	return ComposedOf(u)[0]
}

// requestRun of an AnsibleRun in a namespace.
func requestRun(t *testing.T, namespace, name, token string) {
	t.Helper()
	cp.Kubectl(t, "annotate", "--overwrite", "ansibleruns.ansible.m.crossplane.io", "-n", namespace, name, "crossplane.io/reconcile-requested-at="+token)
}
