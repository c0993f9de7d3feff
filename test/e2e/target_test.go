package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/sshd"
)

// targetData is what the manifests below are a template for.
type targetData struct {
	Namespace, Directory, Key, KnownHosts, Vars, Password string
}

// targets are hosts that are reached by ssh, and that three inventories know.
const targets = `
apiVersion: v1
kind: Secret
metadata: {namespace: [[.Namespace]], name: ssh}
stringData:
  id_ed25519: [[.Key]]
  known_hosts: [[.KnownHosts]]
  vault: [[.Password]]
  hosts.yaml: |
    all:
      vars: {[[.Vars]], greeting: Hello}
---
apiVersion: v1
kind: ConfigMap
metadata: {namespace: [[.Namespace]], name: hosts}
data:
  hosts.ini: |
    [web]
    web-1 greeting=Welcome
    web-2
    web-3
    [db]
    db-1
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: ssh}
spec:
  vars: {ANSIBLE_VAULT_PASSWORD_FILE: .vault-password}
  credentials:
  - {filename: id_ed25519, source: Secret, secretRef: {name: ssh, key: id_ed25519}}
  - {filename: known_hosts, source: Secret, secretRef: {name: ssh, key: known_hosts}}
  - {filename: .vault-password, source: Secret, secretRef: {name: ssh, key: vault}}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: site, annotations: {ansible.crossplane.io/runPolicy: RunOnChange}}
spec:
  providerConfigRef: {kind: ProviderConfig, name: ssh}
  forProvider:
    inventoryInline: |
      [web]
      [web:vars]
      greeting=Good morning
      ansible_ssh_private_key_file=id_ed25519
    inventories:
    - {source: ConfigMapKey, configMapKeyRef: {name: hosts, key: hosts.ini}}
    - {source: Secret, secretRef: {name: ssh, key: hosts.yaml}}
    limit: "!web-3"
    skipTags: [never-mind]
    forks: 2
    vars: {directory: "[[.Directory]]", name: [[.Name]]}
    playbookInline: |
      - hosts: web
        gather_facts: false
        tasks:
        - name: Greet
          ansible.builtin.copy: {dest: "{{ directory }}/{{ inventory_hostname }}", content: "{{ greeting }}, {{ name }}"}
          when: ansible_provider_meta.managed_resource.state == 'present'
        - name: Leave
          ansible.builtin.file: {path: "{{ directory }}/{{ inventory_hostname }}", state: absent}
          when: ansible_provider_meta.managed_resource.state == 'absent'
        - ansible.builtin.fail: {}
          tags: [never-mind]
          when: ansible_provider_meta.managed_resource.state == 'present'
`

// TestTargets reaches hosts by ssh with a key, and only those that are known.
func TestTargets(t *testing.T) {
	t.Parallel()

	server, other := sshd.Start(t, t.TempDir(), sshd.Options{Host: host()}), sshd.Start(t, t.TempDir(), sshd.Options{Host: host()})
	dir := directory(t)
	d := targetData{
		Namespace: cp.Namespace(t), Directory: dir, Key: fmt.Sprintf("%q", server.Key), Password: "vault-pass",
		KnownHosts: fmt.Sprintf("%q", strings.Replace(other.KnownHosts(), fmt.Sprint(other.Port), fmt.Sprint(server.Port), 1)),
		Vars:       fmt.Sprintf("ansible_host: %s, ansible_port: %d, ansible_user: %s", server.Host, server.Port, server.User),
	}
	manifests := strings.ReplaceAll(targets, "[[.Name]]", fmt.Sprintf("{__ansible_vault: %q}", encrypted(t, d.Password, "World")))
	run := cp.Apply(t, manifests, d)[3]

	cp.WaitFor(t, run, Condition("Ready", "False"), Condition("Synced", "False"), Message("Synced", "Host key verification failed."),
		Field("status.atProvider.lastRun.reason", "HostUnreachable"), Field("status.atProvider.lastRun.hosts.unreachable", 2))
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("Nothing should be done on a host that is not the known one: got %v", left)
	}

	d.KnownHosts = fmt.Sprintf("%q", server.KnownHosts())
	cp.Apply(t, manifests, d)
	cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"), Field("status.atProvider.lastRun.hosts.ok", 2))

	got := map[string]string{}
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		got[f.Name()] = readFile(t, filepath.Join(dir, f.Name()))
	}
	// Variables of a host win over those of its groups, those of a group over all.
	want := map[string]string{"web-1": "Welcome, World", "web-2": "Good morning, World"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("The hosts of all inventories should be greeted, as far as the limit goes: -want, +got:\n%s", diff)
	}

	cp.Delete(t, run)
	cp.WaitGone(t, run)
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("The hosts should have been left before the object went: got %v", left)
	}
}
