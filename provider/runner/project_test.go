package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// projectFiles are the files of a repository with a common layout.
func projectFiles() map[string]string {
	return map[string]string{
		"project/ansible.cfg": "[defaults]\ninventory = inventories/development\nforce_handlers = True\nroles_path = more_roles\nhash_behaviour = merge\nlocal_tmp = /nonexistent\n",
		"project/site.yml": `
- name: Web
  hosts: web
  gather_facts: false
  roles: [web, other]
- import_playbook: playbooks/second.yml
`,
		"project/playbooks/second.yml": `
- name: Second
  hosts: localhost
  gather_facts: false
  tasks:
  - ansible.builtin.debug: {msg: "beside={{ beside }} all={{ everywhere | default('none') }} {{ 'x' | shout }}"}
  - ansible.builtin.command: {cmd: ls, chdir: "{{ playbook_dir }}/.."}
    async: 20
    poll: 1
`,
		"project/playbooks/group_vars/all.yml":               "beside: the playbook\n",
		"project/playbooks/filter_plugins/shout.py":          "class FilterModule:\n    def filters(self):\n        return {'shout': lambda s: s.upper()}\n",
		"project/playbook.yml":                               "- hosts: localhost\n  gather_facts: false\n  tasks:\n  - ansible.builtin.debug: {msg: \"{{ everywhere }}\"}\n",
		"project/group_vars/all.yml":                         "everywhere: of all\n",
		"project/group_vars/web.yml":                         "tier: of web\n",
		"project/host_vars/web1.yml":                         "own: of web1\n",
		"project/inventories/production/hosts":               "[web]\nweb1 ansible_connection=local ansible_python_interpreter='{{ ansible_playbook_python }}'\n",
		"project/inventories/production/group_vars/all.yml":  "stage: production\n",
		"project/inventories/development/hosts":              "[web]\ndev1 ansible_connection=local ansible_python_interpreter='{{ ansible_playbook_python }}'\n",
		"project/inventories/development/group_vars/all.yml": "stage: development\n",
		"project/templates/page.j2":                          "{{ stage }}\n",
		"project/library/hello.py":                           "#!/usr/bin/python\nfrom ansible.module_utils.basic import AnsibleModule\nAnsibleModule({}).exit_json(changed=False, msg='module of the project')\n",
		"project/roles/web/tasks/main.yml": `
- ansible.builtin.debug: {msg: "{{ stage }} {{ tier }} {{ own | default('none') }} {{ everywhere }} {{ {'a': 1} | combine({}) }}"}
- ansible.builtin.template: {src: page.j2, dest: "{{ playbook_dir }}/page"}
- {register: r, hello: {}}
- ansible.builtin.debug: {msg: "{{ r.msg }} {{ lookup('file', playbook_dir + '/page') }} forced={{ lookup('config', 'DEFAULT_FORCE_HANDLERS') }}"}
`,
		"project/more_roles/other/tasks/main.yml": "- ansible.builtin.debug: {msg: role of a path}\n",
	}
}

// projectSet returns a content set with a project.
func projectSet(t *testing.T, files map[string]string) content.Set {
	t.Helper()

	project := &common.ContentItem{Name: "https://git.example.org/site.git", Version: "abc"}

	return content.Set{Dir: write(t, files), Content: common.Content{Project: project}}
}

// ofProject returns a run of a playbook of a project.
func ofProject(set content.Set, playbook string, inventories ...string) Spec {
	run := inline("")
	run.Content, run.KeepOutput = set, true
	run.Inputs.Parameters = common.AnsibleRunParameters{Project: &common.Project{Src: set.Project.Name}, Playbook: playbook}

	for _, name := range inventories {
		run.Inputs.Parameters.Inventories = append(run.Inputs.Parameters.Inventories,
			common.Inventory{FileSelector: common.FileSelector{Source: common.FileSourceProject}, Path: name})
		run.Inputs.Inventories = append(run.Inputs.Inventories, inputs.File{Name: name, Path: name})
	}

	return run
}

// TestProject runs a project. It finds its files as if ansible-playbook ran in its directory.
func TestProject(t *testing.T) {
	t.Parallel()

	set := projectSet(t, projectFiles())

	const production = "inventories/production"

	of := func(change func(*inputs.Inputs), playbook string, inventories ...string) func(*inputs.Inputs) {
		return func(in *inputs.Inputs) {
			*in = ofProject(set, playbook, inventories...).Inputs
			change(in)
		}
	}
	plain := func(*inputs.Inputs) {}

	t.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(set.ProjectPath(), "page")); err == nil {
			t.Error("A run should write into a copy of the project of its own")
		}
	})

	try(t, map[string]trial{
		"InventoryOfConfig": {
			reason:  "The ansible.cfg of the project may name an inventory.",
			content: set, inputs: of(plain, "site.yml"), displays: []string{"development of web none of all"},
		},
		"Several": {
			reason: "Several playbooks of the project run one after another, and each finds the roles, plugins, templates and variables beside it. " +
				"Settings of the provider take precedence over the ansible.cfg. A playbook may have the name of the generated playbook.",
			content: set, inputs: of(func(in *inputs.Inputs) {
				in.Parameters.Playbooks = []string{"playbooks/second.yml", "site.yml", "playbook.yml"}
			}, "", production),
			displays: []string{
				"beside=the playbook all=none X", "production of web of web1 of all", "module of the project production forced=True", "role of a path", `"msg": "of all"`,
			},
		},
		"Role": {
			reason:  "A role of the project can run by itself. An ansible.cfg of the credentials replaces that of the project.",
			content: set, inputs: of(func(in *inputs.Inputs) {
				in.Parameters.Role, in.Roles = "web", []common.Role{{Name: "web"}}
				configured("[defaults]\nforce_handlers = False\n")(in)
			}, "", production),
			displays: []string{"production of web of web1 of all", "forced=False"},
		},
	})
}

// TestProjectDirectory has a credential with the name of a directory of the project, which must not be replaced.
func TestProjectDirectory(t *testing.T) {
	run := ofProject(projectSet(t, projectFiles()), "site.yml")
	run.Inputs.Credentials = []inputs.File{{Name: "playbooks", Data: []byte("x")}}

	if _, err := newRunner(t).Run(t.Context(), run, events.Watch{}); err == nil || !strings.Contains(err.Error(), "playbooks: directory not empty") {
		t.Errorf("Run(...): the directory should stay, got %v", err)
	}
}

// TestProjectMissing tests the errors for files that are missing in a project, before anything runs.
func TestProjectMissing(t *testing.T) {
	files := projectFiles()
	set := projectSet(t, files)

	several := ofProject(set, "")
	several.Inputs.Parameters.Playbooks = []string{"site.yml", "playbooks/third.yml"}

	removed := ofProject(set, "site.yml")
	removed.Inputs.Parameters.OnDelete = &common.OnDelete{Playbook: "remove.yml"}

	deleted := removed
	deleted.State, deleted.Inputs = common.StateAbsent, removed.Inputs.ForDeletion()

	kept := ofProject(set, "site.yml")
	kept.Inputs.Parameters.OnDelete = &common.OnDelete{Policy: common.DeleteKeep, Playbook: "remove.yml"}

	for name, tc := range map[string]struct {
		reason string
		run    Spec
		want   string
	}{
		"Kept":    {"A playbook that never runs may be missing.", kept, "<nil>"},
		"Deleted": {"A deletion names the missing playbook once.", deleted, `spec.forProvider.onDelete.playbook: the project has no "remove.yml" (there is: playbook.yml, site.yml)`},
		"Playbook": {
			reason: "The error lists the playbooks of the project.",
			run:    ofProject(set, "sit.yml"),
			want:   `spec.forProvider.playbook: the project has no "sit.yml" (there is: playbook.yml, site.yml)`,
		},
		"OneOfSeveral": {
			reason: "None of several playbooks runs if one is missing.",
			run:    several,
			want:   `spec.forProvider.playbooks[1]: the project has no "playbooks/third.yml" (there is: second.yml)`,
		},
		"OfDeletion": {
			reason: "A missing playbook of a deletion is an error before the deletion.",
			run:    removed,
			want:   `spec.forProvider.onDelete.playbook: the project has no "remove.yml" (there is: playbook.yml, site.yml)`,
		},
		"Inventory": {
			reason: "Ansible would take the path of a missing inventory for a host.",
			run:    ofProject(set, "site.yml", "inventories/production", "inventories/prod"),
			want:   `spec.forProvider.inventories[1].path: the project has no "inventories/prod" (there is: development, production)`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := withProject(tc.run)
			if diff := cmp.Diff(tc.want, fmt.Sprint(err)); diff != "" {
				t.Errorf("\n%s\nwithProject(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
