package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
		spec:   "title: {type: string}, directory: {type: string}, stage: {type: string}",
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
        project: {src: [[.URL]]/infrastructure.git, version: v1.0.0}
        playbook: site.yml
        inventories:
        - {source: Project, path: "inventories/${xr.spec.stage}"}
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
	cp.WaitFor(t, staging, Reason("AnsibleRunsReady", "InvalidValue"), Message("AnsibleRunsReady", "must be a path whose computed parts are"))
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

// TestProjectArchive runs a project of an archive, as git hosts make them, from a server with a password.
func TestProjectArchive(t *testing.T) {
	t.Parallel()

	root := directory(t)
	files := repository()
	delete(files, "requirements.yml")
	files["playbooks/report.yml"] = "- hosts: web\n  gather_facts: false\n  tasks: []\n"
	writeFiles(t, filepath.Join(root, "site"), files)
	commit(t, filepath.Join(root, "site"), "v1.0.0")
	must(t, os.Mkdir(filepath.Join(root, "archives"), 0o755))
	command(t, filepath.Join(root, "site"), "git", "archive", "--prefix=site-1.0.0/", "--output=../archives/v1.0.0.tar.gz", "v1.0.0")

	server := startSource(t, sources.Files(filepath.Join(root, "archives")), sources.Options{Auth: sources.Auth{User: "deploy", Password: token}})
	d := struct{ Namespace, Directory, URL, Host, Token string }{
		Namespace: cp.Namespace(t), Directory: directory(t), URL: server.URL, Host: host(), Token: token,
	}

	run := cp.Apply(t, `
apiVersion: v1
kind: Secret
metadata: {namespace: [[.Namespace]], name: files}
stringData: {.netrc: "machine [[.Host]] login deploy password [[.Token]]"}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: files}
spec:
  credentials:
  - {filename: .netrc, source: Secret, secretRef: {name: files, key: .netrc}}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: site}
spec:
  providerConfigRef: {kind: ProviderConfig, name: files}
  forProvider:
    project: {src: [[.URL]]/v1.0.0.tar.gz}
    playbook: site.yml
    inventories:
    - {source: Project, path: inventories/staging}
    vars: {title: Hello, directory: "[[.Directory]]"}
`, d)[2]

	sum, _, _ := strings.Cut(command(t, root, "sha256sum", "archives/v1.0.0.tar.gz"), " ")
	cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.content.project.version", "sha256:"+sum))

	if got := readFile(t, filepath.Join(d.Directory, "stage1")); got != "staging stage1 the web team none Hello" {
		t.Errorf("The role should have written a page, got %q", got)
	}
}

// moving is a run of a branch.
const moving = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec: {}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata:
  namespace: [[.Namespace]]
  name: run
  annotations: {ansible.crossplane.io/runPolicy: RunOnChange}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    project: {src: "[[.Source]]", version: main, path: web}
    playbook: site.yml
    vars: {directory: "[[.Directory]]"}
`

// TestProjectMoves follows a branch of a project. It restarts the provider, so that it is not parallel.
func TestProjectMoves(t *testing.T) {
	needsProvider(t, "Pods resolve content themselves, when they run it")

	repo := directory(t)
	play := func(text string) map[string]string {
		return map[string]string{"web/site.yml": "- hosts: localhost\n  gather_facts: false\n  tasks:" + strings.ReplaceAll(ledger(text), "\n", "\n  ")}
	}
	writeFiles(t, repo, play("first"))
	commit(t, repo, "v1")

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Source: "file://" + repo}
	cp.Provider.Stop(t)
	cp.Provider.Start(t, "--content-ttl=2s")

	run := cp.Apply(t, moving, d)[1]
	cp.WaitFor(t, run, Condition("Ready", "True"))

	writeFiles(t, repo, play("second"))
	commit(t, repo, "v2")
	cp.WaitFor(t, run, Field("status.atProvider.lastRun.trigger", "Changed"), Field("status.atProvider.lastRun.phase", "Succeeded"), Condition("Ready", "True"))

	// Another directory of the repository.
	writeFiles(t, repo, map[string]string{"database/site.yml": "[]\n"})
	commit(t, repo, "v3")

	must(t, os.Rename(repo, repo+".away"))
	cp.WaitFor(t, run, Condition("ContentUpToDate", "False"), Reason("ContentUpToDate", "SourceUnavailable"),
		Message("ContentUpToDate", "cannot install project: "), Condition("Ready", "True"))
	requestRun(t, d.Namespace, "run", "down")
	cp.WaitFor(t, run, Field("status.atProvider.handledRequest", "down"), Field("status.atProvider.lastRun.phase", "Succeeded"))

	if got := readFile(t, filepath.Join(d.Directory, "ledger")); got != "first\nsecond\nsecond\n" {
		t.Errorf("Each change of the directory should be run once, and a request: got %q", got)
	}
}

// TestProjectInPods has runs find out themselves which commit a branch has. It restarts the provider, so that it is not
// parallel.
func TestProjectInPods(t *testing.T) {
	if !inPods() {
		t.Skip("only with -place=Pod: the provider follows a branch by itself, see TestProjectMoves")
	}

	root := directory(t)
	repo := filepath.Join(root, "moving.git")
	play := func(text string) string {
		return "- hosts: localhost\n  gather_facts: false\n  tasks:" + strings.ReplaceAll(ledger(text), "\n", "\n  ")
	}
	writeFiles(t, repo, map[string]string{"web/site.yml": play("first")})
	commit(t, repo, "v1")

	repositories, err := sources.Git(t.Context(), root)
	must(t, err)

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Source: startSource(t, repositories, sources.Options{}).URL + "/moving.git"}
	cp.Provider.Stop(t)
	cp.Provider.Start(t, "--content-ttl=1s")

	run := cp.Apply(t, moving, d)[1]
	cp.WaitFor(t, run, Condition("Ready", "True"))

	writeFiles(t, repo, map[string]string{"web/site.yml": play("second")})
	commit(t, repo, "v2")
	head := strings.TrimSpace(command(t, repo, "git", "rev-parse", "HEAD"))

	// The content of the first run is due a second after that.
	cp.WaitFor(t, run, That("its content is due", func(u *unstructured.Unstructured) bool {
		resolved, err := time.Parse(time.RFC3339, fmt.Sprint(Value(u, "status.atProvider.content.resolved")))
		return err == nil && time.Since(resolved) > time.Second
	}))
	requestRun(t, d.Namespace, "run", "moved")
	cp.WaitFor(t, run, Field("status.atProvider.handledRequest", "moved"), Field("status.atProvider.lastRun.phase", "Succeeded"),
		Field("status.atProvider.content.project.version", head))

	must(t, os.Rename(repo, repo+".away"))
	requestRun(t, d.Namespace, "run", "down")
	cp.WaitFor(t, run, Field("status.atProvider.handledRequest", "down"), Field("status.atProvider.lastRun.reason", "InstallFailed"))
	must(t, os.Rename(repo+".away", repo))
	requestRun(t, d.Namespace, "run", "up")
	cp.WaitFor(t, run, Field("status.atProvider.handledRequest", "up"), Field("status.atProvider.lastRun.phase", "Succeeded"), Condition("Ready", "True"))

	if got := readFile(t, filepath.Join(d.Directory, "ledger")); got != "first\nsecond\nsecond\n" {
		t.Errorf("A request should run what the branch has then, and other content nothing more: got %q", got)
	}
}
