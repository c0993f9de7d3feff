package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// repository is laid out as many are: playbooks, roles, variables, and an inventory for each stage.
func repository() map[string]string {
	files := map[string]string{
		"README.md":   "# Infrastructure\n",
		"ansible.cfg": "[defaults]\nroles_path = roles\nforce_handlers = true\n",
		"site.yml": `
- name: Web servers
  hosts: web
  gather_facts: false
  roles: [page]
- import_playbook: playbooks/report.yml
`,
		"playbooks/report.yml": `
- name: Report
  hosts: localhost
  gather_facts: false
  tasks:
  - ansible.builtin.include_role: {name: acme.site.first}
    when: ansible_provider_meta.managed_resource.state == 'present'
  - ansible.builtin.set_stats:
      data: {pages: "{{ groups.web | map('shout') }}"}
`,
		"playbooks/filter_plugins/shout.py": "class FilterModule:\n    def filters(self):\n        return {'shout': lambda s: s.upper()}\n",
		"requirements.yml":                  "collections:\n- {name: [[.Collection]], type: git, version: 1.0.0}\n",
		"group_vars/web.yml":                "owner: the web team\n",
		"host_vars/prod1.yml":               "banner: careful\n",
		"roles/page/templates/page.j2":      "{{ stage }} {{ inventory_hostname }} {{ owner }} {{ banner | default('none') }} {{ title }}",
		"roles/page/tasks/main.yml": `
- ansible.builtin.template: {src: page.j2, dest: "{{ directory }}/{{ inventory_hostname }}", mode: "0600"}
  when: ansible_provider_meta.managed_resource.state == 'present'
- ansible.builtin.file: {path: "{{ directory }}/{{ inventory_hostname }}", state: absent}
  when: ansible_provider_meta.managed_resource.state == 'absent'
`,
	}

	for stage, hosts := range map[string]string{"production": "prod1\nprod2", "staging": "stage1"} {
		files["inventories/"+stage+"/hosts"] = "[web]\n" + hosts + "\n"
		files["inventories/"+stage+"/group_vars/all.yml"] = "stage: " + stage + "\nansible_connection: local\nansible_python_interpreter: '{{ ansible_playbook_python }}'\n"
	}

	return files
}

// TestProject turns a private repository with playbooks into an API: each XR is one of its stages.
func TestProject(t *testing.T) {
	t.Parallel()

	ca, err := sources.NewCA()
	must(t, err)

	root := directory(t)
	must(t, os.Rename(strings.TrimPrefix(site().Git(t), "git+file://"), filepath.Join(root, "site.git")))

	repositories, err := sources.Git(t.Context(), root)
	must(t, err)

	git := startSource(t, repositories, sources.Options{CA: ca, Auth: sources.Auth{User: "deploy", Password: token}})

	files := repository()
	files["requirements.yml"] = strings.Replace(files["requirements.yml"], "[[.Collection]]", git.URL+"/site.git", 1)
	writeFiles(t, filepath.Join(root, "infrastructure.git"), files)
	commit(t, filepath.Join(root, "infrastructure.git"), "v1.0.0")

	d := struct{ Namespace, Directory, URL, Login, CA, Stage, Title string }{
		Namespace: cp.Namespace(t), Directory: directory(t), URL: git.URL,
		Login: strings.Replace(git.URL, "://", "://deploy:"+token+"@", 1), CA: string(ca.PEM),
	}

	definition := definition{
		kind: "Stage", scope: "Namespaced",
		spec:   "title: {type: string}, directory: {type: string}, stage: {type: string}, version: {type: string}",
		status: "pages: {type: array, items: {type: string}}",
	}

	cp.Apply(t, definition.String()+`
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: stages}
spec:
  compositeTypeRef: {apiVersion: e2e.example.org/v1, kind: Stage}
  mode: Pipeline
  pipeline:
  - step: runs
    functionRef: {name: function-ansible}
    input:
      apiVersion: ansible.fn.crossplane.io/v1alpha1
      kind: AnsibleRuns
      runs:
      - name: site
        providerConfigRef: {kind: ProviderConfig, name: git}
        allowed: {project.version: ["v1.*"], inventories.path: ["inventories/*"]}
        project: {src: [[.URL]]/infrastructure.git, version: "v${xr.spec.?version.orValue('1.0.0')}"}
        playbook: site.yml
        inventories:
        - {path: "inventories/${xr.spec.stage}"}
        vars: {title: "${xr.spec.title}", directory: "${xr.spec.directory}"}
      status:
        pages: "${runs.site.outputs.pages}"
---
apiVersion: v1
kind: Secret
metadata: {namespace: [[.Namespace]], name: git}
stringData:
  .git-credentials: [[printf "%q" .Login]]
  ca.crt: [[printf "%q" .CA]]
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: git}
spec:
  credentials:
  - {filename: .git-credentials, source: Secret, secretRef: {name: git, key: .git-credentials}}
  - {filename: ca.crt, source: Secret, secretRef: {name: git, key: ca.crt}}
  vars: {SSL_CERT_FILE: ca.crt}
`, d)

	const xr = `
apiVersion: e2e.example.org/v1
kind: Stage
metadata: {namespace: [[.Namespace]], name: [[.Stage]]}
spec:
  stage: [[.Stage]]
  title: [[printf "%q" .Title]]
  directory: "[[.Directory]]"
`

	d.Stage, d.Title = "production", "Hello"
	production := cp.Apply(t, xr, d)[0]
	d.Stage, d.Title = "staging", "{{ lookup('pipe', 'id') }}"
	staging := cp.Apply(t, xr, d)[0]

	cp.WaitFor(t, production, Condition("Ready", "True"), Field("status.pages", "[PROD1 PROD2]"))
	cp.WaitFor(t, staging, Condition("Ready", "True"), Field("status.pages", "[STAGE1]"))

	for page, want := range map[string]string{
		"prod1":  "production prod1 the web team careful Hello",
		"prod2":  "production prod2 the web team none Hello",
		"stage1": "staging stage1 the web team none {{ lookup('pipe', 'id') }}",
	} {
		if got := readFile(t, filepath.Join(d.Directory, page)); got != want {
			t.Errorf("%s: want %q, got %q", page, want, got)
		}
	}

	run := composedRun(t, production)
	u := cp.WaitFor(t, run, Field("status.atProvider.content.collections", "[map[name:acme.site version:1.0.0]]"))

	head := strings.TrimSpace(command(t, filepath.Join(root, "infrastructure.git"), "git", "rev-parse", "HEAD"))
	if got := Value(u, "status.atProvider.content.project.version"); got != head {
		t.Errorf("The status should say which commit is run: want %s, got %v", head, got)
	}

	if text := cp.YAML(t.Context(), run); strings.Contains(text, token) {
		t.Errorf("No secret should be on the object:\n%s", text)
	}

	// What an XR says is the name of an inventory, and nothing else.
	d.Stage, d.Title = "staging", "x"
	cp.Apply(t, strings.Replace(xr, "stage: [[.Stage]]\n", "stage: ../roles\n", 1), d)
	cp.WaitFor(t, staging, Reason("AnsibleRunsReady", "InvalidValue"), Message("AnsibleRunsReady", "must be letters, digits"))
	cp.Apply(t, strings.Replace(xr, "stage: [[.Stage]]\n", "stage: stagging\n", 1), d)
	cp.WaitFor(t, composedRun(t, staging), Field("status.atProvider.lastRun.reason", "InvalidInputs"),
		Message("Synced", `spec.forProvider.inventories[0].path: the project has no "inventories/stagging" (there is: production, staging)`))
	cp.Apply(t, xr, d)
	cp.WaitFor(t, staging, Condition("Ready", "True"))

	cp.Delete(t, production)
	cp.WaitGone(t, run)

	if exists(filepath.Join(d.Directory, "prod2")) || !exists(filepath.Join(d.Directory, "stage1")) {
		t.Error("The pages of production should be gone, those of staging not.")
	}
}
