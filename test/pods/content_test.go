package pods

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// roles is a run of two roles.
const roles = config + `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: run}
spec:
  managementPolicies: [[.Actions]]
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    roles: [cloned, archived]
    vars: {ansible_lookup_url_timeout: 300, ledger: "[[.URL]]"}
`

// TestContent installs content in the Pod, from a git repository and from an archive. Content that
// is to come with the image is never installed.
func TestContent(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	root := t.TempDir()
	role(t, filepath.Join(root, "cloned.git"), "cloned")
	git(t, filepath.Join(root, "cloned.git"), "init", "--quiet", "--initial-branch=main")
	git(t, filepath.Join(root, "cloned.git"), "add", "--all")
	git(t, filepath.Join(root, "cloned.git"), "commit", "--quiet", "--message=Add content")
	git(t, filepath.Join(root, "cloned.git"), "tag", "v1")
	role(t, filepath.Join(root, "archived"), "archived")
	archive(t, filepath.Join(root, "archived"), filepath.Join(root, "archived.tar.gz"))

	repositories, err := sources.Git(t.Context(), root)
	must(t, err)
	files := http.NewServeMux()
	files.Handle("/git/", http.StripPrefix("/git", repositories))
	files.Handle("/files/", http.StripPrefix("/files", sources.Files(root)))
	server, err := sources.Start(t.Context(), files, sources.Options{Host: cp.Stack.Address()})
	must(t, err)
	t.Cleanup(server.Stop)

	requirements := fmt.Sprintf("requirements: \"roles: [{name: cloned, src: '%s/git/cloned.git', scm: git, version: v1}, {name: archived, src: '%s/files/archived.tar.gz'}]\"", server.URL, server.URL)
	s.Execution, s.Config = "{place: Pod, content: Image}", requirements
	if err := cp.ApplyError(t, config, s); err == nil || !strings.Contains(err.Error(), "requirements are not installed where execution.content is Image") {
		t.Errorf("Requirements that nobody installs should be refused, got %v", err)
	}

	s.Execution = "{place: Pod, " + small + "}"
	s.apply(t, roles)
	s.ready(t, That("two roles", func(u *unstructured.Unstructured) bool {
		l, _ := Value(u, "status.atProvider.content.roles").([]any)
		return len(l) == 2
	}))
	if got := strings.Join(s.Notes(), " "); got != "cloned archived" {
		t.Errorf("Both roles should have run in order, got %q", got)
	}
}

// role in a directory, which notes its name.
func role(t *testing.T, dir, name string) {
	t.Helper()
	for file, text := range map[string]string{
		"meta/main.yml":  "galaxy_info: {author: The tests, description: A role, license: Apache-2.0, min_ansible_version: '2.14'}\n",
		"tasks/main.yml": "- ansible.builtin.debug: {msg: \"{{ lookup('ansible.builtin.url', ledger ~ '/note/" + name + "') }}\"}\n",
	} {
		must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=test", "-c", "user.email=test@example.org"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %s\n%s", strings.Join(args, " "), err, out)
	}
}

// archive a directory.
func archive(t *testing.T, dir, file string) {
	t.Helper()
	b := &bytes.Buffer{}
	z := gzip.NewWriter(b)
	w := tar.NewWriter(z)
	must(t, w.AddFS(os.DirFS(dir)))
	must(t, w.Close())
	must(t, z.Close())
	must(t, os.WriteFile(file, b.Bytes(), 0o600))
}

// TestLargeInputs gives a run inputs that no Secret has room for.
func TestLargeInputs(t *testing.T) {
	t.Parallel()

	const size = 900 << 10
	s := newScene(t)
	for _, name := range []string{"first", "second"} {
		random := make([]byte, size*3/4)
		_, _ = rand.Read(random)
		must(t, cp.Kube.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
			Data:       map[string]string{"vars.yml": name + ": " + base64.StdEncoding.EncodeToString(random)},
		}))
	}
	s.apply(t, config+`
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: run}
spec:
  managementPolicies: [[.Actions]]
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    vars: {ansible_lookup_url_timeout: 300, ledger: "[[.URL]]"}
    varFiles:
    - {source: ConfigMapKey, configMapKeyRef: {name: first, key: vars.yml}}
    - {source: ConfigMapKey, configMapKeyRef: {name: second, key: vars.yml}}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Wait at the gate
          ansible.builtin.debug: {msg: "{{ lookup('ansible.builtin.url', ledger ~ '/note/begin', ledger ~ '/gate/present') }}"}
        - ansible.builtin.set_stats: {data: {first: "{{ first | length }}", second: "{{ second | length }}"}}
`)
	s.Await(t, 1, "begin")
	if got := len(s.secrets(t)); got < 2 {
		t.Errorf("Several Secrets should have the inputs, got %d", got)
	}
	s.Open("present")
	s.ready(t, Field("status.atProvider.outputs.first", size), Field("status.atProvider.outputs.second", size))
	s.nothingLeft(t)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
