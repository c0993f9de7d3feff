package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
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

// Configurations in the namespace of a test, and its run.
const (
	emptyConfig = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec: {}
---
`

	// siteConfig requires the collection site, from a repository.
	siteConfig = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec:
  requirements: |
    collections: [{name: "[[.Source]]", type: git, version: 1.0.0}]
---
`

	// theRun has parameters that follow.
	theRun = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: run}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:`
)

// A collection of Ansible content to be made for a test.
type collection struct {
	Namespace string
	Name      string
	Version   string

	// Files by their paths in the collection.
	Files map[string]string
}

// Dir writes the sources of the collection to a directory.
func (c collection) Dir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files := maps.Clone(c.Files)
	files["galaxy.yml"] = fmt.Sprintf("namespace: %s\nname: %s\nversion: %s\nreadme: README.md\nauthors: [The tests]\n", c.Namespace, c.Name, c.Version)
	files["README.md"] = "A collection for tests.\n"
	needs.Write(t, dir, files)
	return dir
}

// Tarball builds the collection as its author would, and returns the path of the
// archive.
func (c collection) Tarball(t *testing.T) string {
	t.Helper()
	out := t.TempDir()
	newShell(t).Run(t, "ansible-galaxy collection build --output-path "+out+" "+c.Dir(t))
	return filepath.Join(out, fmt.Sprintf("%s-%s-%s.tar.gz", c.Namespace, c.Name, c.Version))
}

// Git makes a git repository of the collection and returns its URL. Its version
// is a tag.
func (c collection) Git(t *testing.T) string {
	t.Helper()
	dir := c.Dir(t)
	sources.Commit(t, dir, c.Version)
	return "git+file://" + dir
}

// readFile that may not be there.
func readFile(t *testing.T, path string) string {
	t.Helper()
	if !exists(path) {
		return ""
	}
	return needs.Read(t, path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// commands with a text in their arguments.
func commands(t *testing.T, part string) (out []string) {
	t.Helper()
	all, err := procfs.AllProcs()
	needs.OK(t, err)
	for _, p := range all {
		args, _ := p.CmdLine() // What has ended has none.
		if command := strings.Join(args, " "); strings.Contains(command, part) {
			out = append(out, command)
		}
	}
	return out
}
