package runner

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestIgnoresState(t *testing.T) {
	const (
		aware   = "- ansible.builtin.debug: {msg: \"{{ ansible_provider_meta.managed_resource.state }}\"}\n"
		unaware = "- ansible.builtin.debug: {msg: hello}\n"
	)

	for name, tc := range map[string]struct {
		reason string
		// set and project are additional files of the content set and of the project.
		set, project map[string]string
		change       func(*Spec)
		want         bool
	}{
		"Unaware":   {reason: "No content uses the state.", want: true},
		"Role":      {reason: "A role of the project uses the state.", project: map[string]string{"roles/site/tasks/main.yml": aware}},
		"Installed": {reason: "An installed role uses the state.", set: map[string]string{"roles/acme.site/tasks/main.yml": aware}},
		"InCollection": {
			reason: "A role of an installed collection uses the state.",
			set:    map[string]string{"collections/ansible_collections/acme/site/roles/web/tasks/main.yml": aware},
		},
		"Plugins": {
			reason: "A plugin of an installed collection uses the state.",
			set:    map[string]string{"collections/ansible_collections/acme/site/plugins/action/web.py": "task_vars['ansible_provider_meta']\n"},
		},
		"Beside": {
			reason: "Other directories of a collection are not searched: a playbook does not run them by itself.", want: true,
			set: map[string]string{"collections/ansible_collections/acme/site/tests/main.yml": aware},
		},
		"OtherVariable": {
			reason: "The content uses the state variable of the user.", project: map[string]string{"roles/site/tasks/main.yml": "- debug: {msg: '{{ site_state }}'}\n"},
			change: func(s *Spec) { s.Inputs.Parameters.StateVariable = &common.StateVariable{Name: "site_state"} },
		},
		"OtherVariableUnused": {
			reason: "The content does not use the state variable of the user.", want: true,
			change: func(s *Spec) { s.Inputs.Parameters.StateVariable = &common.StateVariable{Name: "site_state"} },
		},
		"Vars": {
			reason: "A variable of the user has a template with the state.",
			change: func(s *Spec) {
				s.Inputs.Parameters.Vars = raw(`{"wanted": "{{ ansible_provider_meta.managed_resource.state }}"}`)
			},
		},
		"VarFile": {
			reason: "A variable in a file has a template with the state.",
			change: func(s *Spec) {
				s.Inputs.VarFiles = []inputs.File{{Data: []byte("wanted: '{{ ansible_provider_meta.x.state }}'\n")}}
			},
		},
		"Encrypted": {
			reason: "Encrypted content may use the state.", project: map[string]string{"tasks.yml": inputs.VaultHeader + "1.1;AES256\n3031\n"},
		},
		"Image": {reason: "An image of the user may contain roles.", change: func(s *Spec) { s.Inputs.Execution.Image = "example.org/ansible" }},
		"Elsewhere": {
			reason: "A roles path of the ProviderConfig may contain roles.", change: func(s *Spec) { s.Inputs.Env = map[string]string{"ANSIBLE_ROLES_PATH": "/tmp"} },
		},
		"Configured": {
			reason: "A roles path of the project's ansible.cfg may contain roles.", project: map[string]string{"ansible.cfg": "[defaults]\nroles_path = /tmp\n"},
		},
		"OwnRoles": {
			reason: "A roles path in the project is searched.", want: true,
			project: map[string]string{"ansible.cfg": "[defaults]\nroles_path = roles:more\n", "more/x/tasks/main.yml": unaware},
		},
		"NotThere": {
			reason: "A directory that does not exist contains no roles.", want: true,
			change: func(s *Spec) { s.Inputs.Env = map[string]string{"ANSIBLE_ROLES_PATH": "/none"} },
		},
		"Large": {
			reason: "A large file is not a file of a role.", want: true,
			project: map[string]string{"files/a": strings.Repeat("a", maxSearched) + aware},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			set := map[string]string{"project/site.yml": "- hosts: localhost\n  tasks:\n  " + unaware}
			for name, text := range tc.project {
				set["project/"+name] = text
			}

			maps.Copy(set, tc.set)

			run := ofProject(projectSet(t, set), "site.yml")
			if tc.change != nil {
				tc.change(&run)
			}

			r := planner()
			r.dir = t.TempDir()

			run, err := withProject(run)
			needs.OK(t, err)

			p, err := r.prepare(run)
			needs.OK(t, err)

			needs.OK(t, makeDirectory(p.Dir, p.Project, p.Files))

			if got := r.ignoresState(run, p); got != tc.want {
				t.Errorf("%s\nignoresState(...): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// TestPrepareAbsent tests which playbook the deletion of a project plays.
func TestPrepareAbsent(t *testing.T) {
	set := content.Set{Dir: "/set", Content: common.Content{Project: &common.ContentItem{Name: "https://git.example.org/site.git"}}}

	for name, tc := range map[string]struct {
		reason   string
		onDelete common.OnDelete
		roles    []common.Role
		// want are the arguments, and made is the text of the generated playbook.
		want, made string
	}{
		"Tags":     {"onDelete sets tags.", common.OnDelete{Tags: []string{"uninstall"}}, nil, "--tags=uninstall site.yml", ""},
		"SkipTags": {"onDelete sets skipTags.", common.OnDelete{SkipTags: []string{"uninstall"}}, nil, "--skip-tags=uninstall site.yml", ""},
		"Playbook": {"onDelete sets another playbook.", common.OnDelete{Playbook: "remove.yml"}, nil, "remove.yml", ""},
		"Inline":   {"onDelete sets an inline playbook.", common.OnDelete{PlaybookInline: "[]"}, nil, projectPlaybookFile, "[]"},
		"Role":     {"onDelete sets a role.", common.OnDelete{Role: "clean"}, []common.Role{{Name: "clean"}}, projectPlaybookFile, "- name: \"clean\"\n  hosts: \"localhost\"\n  roles:\n  - role: \"clean\"\n"},
		"Run":      {"The policy Run runs the playbook of the object.", common.OnDelete{Policy: common.DeleteRun}, nil, "site.yml", ""},
	} {
		t.Run(name, func(t *testing.T) {
			run := ofProject(set, "site.yml")
			run.State, run.Inputs.Parameters.Tags, run.Inputs.Parameters.OnDelete = common.StateAbsent, []string{"a"}, &tc.onDelete
			run.Inputs.Required = tc.roles
			run.Inputs = run.Inputs.ForDeletion()

			p, err := planner().prepare(run)
			needs.OK(t, err)

			made := ""
			if !p.Files[0].Given {
				made = string(p.Files[0].Data)
			}

			_, args, _ := strings.Cut(commandLineOf(p), "/vars/000.yml ")
			if diff := cmp.Diff([]string{tc.want, tc.made}, []string{args, made}); diff != "" {
				t.Errorf("%s\nprepare(...): -want arguments and playbook, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRunAbsent runs the deletion of a project with a playbook that does not use the state.
func TestRunAbsent(t *testing.T) {
	t.Parallel()

	note := func(word string) map[string]string {
		return map[string]string{"project/site.yml": "- hosts: localhost\n  gather_facts: false\n  tasks:\n  - ansible.builtin.debug: {msg: \"note " + word + "\"}\n"}
	}

	aware := ofProject(projectSet(t, note("{{ ansible_provider_meta.managed_resource.state }}")), "site.yml")
	aware.State = common.StateAbsent

	if res := must(t, newRunner(t), aware); !strings.Contains(res.Output, "note absent") {
		t.Errorf("Content that uses the state should run: %s", res.Output)
	}

	ignorant := ofProject(projectSet(t, note("site")), "site.yml")
	ignorant.State = common.StateAbsent

	if res := must(t, newRunner(t), ignorant); !strings.Contains(res.Output, "note site") {
		t.Errorf("Content should run if the previous content may have used the state: %s", res.Output)
	}

	ignorant.StateIgnored = true
	for _, ignorant.Mode = range []common.RunMode{common.ModeApply, common.ModeCheck} {
		want := Result{Phase: common.PhaseSucceeded, IgnoresState: true, Untouched: true}
		if diff := cmp.Diff(want, must(t, newRunner(t), ignorant)); diff != "" {
			t.Errorf("A deletion should not apply the content once more: -want, +got:\n%s", diff)
		}
	}
}

// TestIgnoresStateBounds has more files than are searched, and a set that does not exist.
func TestIgnoresStateBounds(t *testing.T) {
	for name, s := range map[string]search{"Files": {files: maxSearchedFiles}, "Bytes": {bytes: maxSearchedBytes}} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{"roles/a/tasks/main.yml": "[]\n"})

			if s.directory(dir, "roles"); !s.found {
				t.Error("Content that was not searched may use the state.")
			}
		})
	}

	run := inline("- hosts: localhost\n")
	run.Content = content.Set{Dir: filepath.Join(t.TempDir(), "gone")}

	if planner().ignoresState(run, plan{Dir: t.TempDir()}) {
		t.Error("Content that cannot be read may use the state.")
	}
}
