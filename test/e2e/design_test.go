package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// TestDesign carries out the manifests of provider-ansible's design that no other test does, with its names.
// What comes from Galaxy there comes from a server that has the same.
func TestDesign(t *testing.T) {
	t.Parallel()

	note := func(what string) string {
		return "- ansible.builtin.shell: echo " + what + " >> {{ directory }}/ledger\n"
	}
	play := func(what string) string {
		return "- hosts: localhost\n  gather_facts: false\n  tasks:\n  " + note(what)
	}
	content := collection{Namespace: "sample_namespace", Name: "sample_collection", Version: "0.1.0", Files: map[string]string{
		"playbooks/sample_playbook.yml":         play("sample_playbook"),
		"playbooks/another_sample_playbook.yml": play("another_sample_playbook"),
		"roles/nginx/tasks/main.yml":            note("nginx"),
		"roles/nginx_config/tasks/main.yml":     note("nginx_config"),
	}}

	roles := t.TempDir()
	for _, name := range []string{"sample_role", "another_sample_role"} {
		writeFiles(t, filepath.Join(roles, name), map[string]string{
			"meta/main.yml":  "galaxy_info: {author: The tests, description: A role, license: Apache-2.0, min_ansible_version: '2.14'}\n",
			"tasks/main.yml": note(name + "-{{ foo | default('none') }}-{{ bar | default([]) | last | default('none') }}-{{ (baz | default({}))['field 1'] | default('none') }}"),
		})
		command(t, roles, "tar", "czf", name+".tar.gz", name)
	}

	archives := startSource(t, sources.Files(roles), sources.Options{})

	hub := sources.NewGalaxy()
	must(t, hub.Publish(content.Tarball(t)))
	for _, name := range []string{"sample_role", "another_sample_role"} {
		hub.PublishRole("sample_namespace", name, "0.1.0", archives.URL+"/"+name+".tar.gz")
	}

	galaxy := startSource(t, hub, sources.Options{})

	const public = `vars: {ANSIBLE_GALAXY_SERVER: "[[.Galaxy]]"}`

	for name, tc := range map[string]struct {
		reason string
		// config and run are the specs, without the reference from one to the other.
		config, run string
		// ledger of the content: its lines, in order.
		ledger []string
	}{
		"Playbooks": {
			reason: "Playbooks of a collection are run one after another.",
			config: public + `
  requirements: |
    ---
    collections:
      # Install a collection from Ansible Galaxy.
      - name: sample_namespace.sample_collection
        version: 0.1.0
        source: [[.Galaxy]]
`,
			run: `
    playbooks:
      - sample_namespace.sample_collection.sample_playbook
      - sample_namespace.sample_collection.another_sample_playbook
`,
			ledger: []string{"sample_playbook", "another_sample_playbook"},
		},
		"ShortNames": {
			reason: "An inline playbook includes a role of a collection by its short name.",
			config: public + `
  requirements: |
    ---
    collections:
      - name: sample_namespace.sample_collection
        version: 0.1.0
`,
			run: `
    playbookInline: |
      ---
      - hosts: all
        gather_facts: false
        collections:
          - sample_namespace.sample_collection
        roles:
          - nginx_config
        tasks:
          - name: Install NGINX
            include_role:
              name: nginx
    inventoryInline: |
      localhost ansible_connection=local ansible_python_interpreter='{{ ansible_playbook_python }}'
`,
			ledger: []string{"nginx_config", "nginx"},
		},
		"RolesOfGalaxy": {
			reason: "Roles that nothing requires come from Galaxy, are run one after another, and have simple variables, lists and dictionaries.",
			config: public,
			run: `
    roles:
      - sample_namespace.sample_role
      - sample_namespace.another_sample_role
    vars:
      foo: value1
      bar:
      - value2
      - value3
      baz:
        field 1: value1
        field 2: value2
`,
			ledger: []string{"sample_role-value1-value3-value1", "another_sample_role-value1-value3-value1"},
		},
		"RolesAndCollections": {
			reason: "Roles and collections are required in one file.",
			config: public + `
  requirements: |
    ---
    roles:
      # Install a role from Ansible Galaxy.
      - name: sample_namespace.sample_role
        version: 0.1.0
    collections:
      # Install a collection from Ansible Galaxy.
      - name: sample_namespace.sample_collection
        version: 0.1.0
        source: [[.Galaxy]]
`,
			run: `
    roles:
      - sample_namespace.sample_role
      - sample_namespace.sample_collection.nginx
`,
			ledger: []string{"sample_role-none-none-none", "nginx"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			d := struct{ Namespace, Directory, Galaxy string }{cp.Namespace(t), directory(t), galaxy.URL}
			objs := cp.Apply(t, `
apiVersion: v1
kind: ConfigMap
metadata: {namespace: [[.Namespace]], name: directory}
data: {directory.yml: "directory: [[.Directory]]"}
---
apiVersion: ansible.crossplane.io/v1alpha1
kind: ProviderConfig
metadata:
  name: [[.Namespace]]
spec:
  `+tc.config+`
---
apiVersion: ansible.crossplane.io/v1alpha1
kind: AnsibleRun
metadata:
  name: [[.Namespace]]
  annotations: {ansible.crossplane.io/runPolicy: RunOnChange}
spec:
  managementPolicies: [Observe, Create, Update]
  forProvider:
    varFiles:
    - source: ConfigMapKey
      configMapKeyRef: {namespace: [[.Namespace]], name: directory, key: directory.yml}
`+strings.TrimPrefix(tc.run, "\n")+`  providerConfigRef:
    name: [[.Namespace]]
`, d)
			cp.WaitFor(t, objs[2], Condition("Ready", "True"))

			if got, want := readFile(t, filepath.Join(d.Directory, "ledger")), strings.Join(tc.ledger, "\n")+"\n"; got != want {
				t.Errorf("%s want %q, got %q", tc.reason, want, got)
			}
		})
	}
}
