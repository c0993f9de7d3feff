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
		// set and project have files besides those of a project.
		set, project map[string]string
		change       func(*Spec)
		want         bool
	}{
		"Unaware":   {reason: "Nothing of it looks at the state.", want: true},
		"Role":      {reason: "A role of the project does.", project: map[string]string{"roles/site/tasks/main.yml": aware}},
		"Installed": {reason: "An installed role does.", set: map[string]string{"roles/acme.site/tasks/main.yml": aware}},
		"InCollection": {
			reason: "A role of an installed collection does.",
			set:    map[string]string{"collections/ansible_collections/acme/site/roles/web/tasks/main.yml": aware},
		},
		"Plugins": {
			reason: "A plugin of one finds all variables.",
			set:    map[string]string{"collections/ansible_collections/acme/site/plugins/action/web.py": "task_vars['ansible_provider_meta']\n"},
		},
		"Beside": {
			reason: "What is beside the roles of a collection is not run by itself.", want: true,
			set: map[string]string{"collections/ansible_collections/acme/site/tests/main.yml": aware},
		},
		"OtherVariable": {
			reason: "A variable of the user has the state.", project: map[string]string{"roles/site/tasks/main.yml": "- debug: {msg: '{{ site_state }}'}\n"},
			change: func(s *Spec) { s.Inputs.Parameters.StateVariable = &common.StateVariable{Name: "site_state"} },
		},
		"OtherVariableUnused": {
			reason: "A variable of the user that nothing looks at has it in vain.", want: true,
			change: func(s *Spec) { s.Inputs.Parameters.StateVariable = &common.StateVariable{Name: "site_state"} },
		},
		"Vars": {
			reason: "A variable of the user is made of the state.",
			change: func(s *Spec) {
				s.Inputs.Parameters.Vars = raw(`{"wanted": "{{ ansible_provider_meta.managed_resource.state }}"}`)
			},
		},
		"VarFile": {
			reason: "So may one of a file be.",
			change: func(s *Spec) {
				s.Inputs.VarFiles = []inputs.File{{Data: []byte("wanted: '{{ ansible_provider_meta.x.state }}'\n")}}
			},
		},
		"Encrypted": {
			reason: "What is encrypted may look at it.", project: map[string]string{"tasks.yml": inputs.VaultHeader + "1.1;AES256\n3031\n"},
		},
		"Image": {reason: "An image may have roles.", change: func(s *Spec) { s.Inputs.Execution.Image = "example.org/ansible" }},
		"Elsewhere": {
			reason: "So may a directory of the configuration.", change: func(s *Spec) { s.Inputs.Env = map[string]string{"ANSIBLE_ROLES_PATH": "/tmp"} },
		},
		"Configured": {
			reason: "So may one of the project's ansible.cfg.", project: map[string]string{"ansible.cfg": "[defaults]\nroles_path = /tmp\n"},
		},
		"OwnRoles": {
			reason: "The roles of the project are searched.", want: true,
			project: map[string]string{"ansible.cfg": "[defaults]\nroles_path = roles:more\n", "more/x/tasks/main.yml": unaware},
		},
		"NotThere": {
			reason: "A directory that is not there has no roles.", want: true,
			change: func(s *Spec) { s.Inputs.Env = map[string]string{"ANSIBLE_ROLES_PATH": "/none"} },
		},
		"Large": {
			reason: "A large file is none of a role.", want: true,
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

// TestPrepareAbsent says what the deletion of a project plays.
func TestPrepareAbsent(t *testing.T) {
	set := content.Set{Dir: "/set", Content: common.Content{Project: &common.ContentItem{Name: "https://git.example.org/site.git"}}}

	for name, tc := range map[string]struct {
		reason   string
		onDelete common.OnDelete
		roles    []common.Role
		// want are the arguments, and made the playbook that is not in the project.
		want, made string
	}{
		"Tags":     {"Tags say what removes.", common.OnDelete{Tags: []string{"uninstall"}}, nil, "--tags=uninstall site.yml", ""},
		"SkipTags": {"Or what does not.", common.OnDelete{SkipTags: []string{"uninstall"}}, nil, "--skip-tags=uninstall site.yml", ""},
		"Playbook": {"Another playbook does.", common.OnDelete{Playbook: "remove.yml"}, nil, "remove.yml", ""},
		"Inline":   {"So does the text of one.", common.OnDelete{PlaybookInline: "[]"}, nil, projectPlaybookFile, "[]"},
		"Role":     {"So does a role.", common.OnDelete{Role: "clean"}, []common.Role{{Name: "clean"}}, projectPlaybookFile, "- name: \"clean\"\n  hosts: \"localhost\"\n  roles:\n  - role: \"clean\"\n"},
		"Run":      {"What is asked for runs.", common.OnDelete{Policy: common.DeleteRun}, nil, "site.yml", ""},
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

// TestRunAbsent carries out the deletion of a project with a playbook that does not look at the state.
func TestRunAbsent(t *testing.T) {
	t.Parallel()

	note := func(word string) map[string]string {
		return map[string]string{"project/site.yml": "- hosts: localhost\n  gather_facts: false\n  tasks:\n  - ansible.builtin.debug: {msg: \"note " + word + "\"}\n"}
	}

	aware := ofProject(projectSet(t, note("{{ ansible_provider_meta.managed_resource.state }}")), "site.yml")
	aware.State = common.StateAbsent

	if res := must(t, newRunner(t), aware); !strings.Contains(res.Output, "note absent") {
		t.Errorf("Content that looks at the state should run: %s", res.Output)
	}

	ignorant := ofProject(projectSet(t, note("site")), "site.yml")
	ignorant.State = common.StateAbsent

	if res := must(t, newRunner(t), ignorant); !strings.Contains(res.Output, "note site") {
		t.Errorf("Content should run if what ran before may have looked at the state: %s", res.Output)
	}

	ignorant.StateIgnored = true
	for _, ignorant.Mode = range []common.RunMode{common.ModeApply, common.ModeCheck} {
		want := Result{Phase: common.PhaseSucceeded, IgnoresState: true, Untouched: true}
		if diff := cmp.Diff(want, must(t, newRunner(t), ignorant)); diff != "" {
			t.Errorf("A deletion should not apply the content once more: -want, +got:\n%s", diff)
		}
	}
}

// TestIgnoresStateBounds has more files than are searched, and a set that is not there.
func TestIgnoresStateBounds(t *testing.T) {
	for name, s := range map[string]search{"Files": {files: maxSearchedFiles}, "Bytes": {bytes: maxSearchedBytes}} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{"roles/a/tasks/main.yml": "[]\n"})

			if s.directory(dir, "roles"); !s.found {
				t.Error("What was not searched may look at the state.")
			}
		})
	}

	run := inline("- hosts: localhost\n")
	run.Content = content.Set{Dir: filepath.Join(t.TempDir(), "gone")}

	if planner().ignoresState(run, plan{Dir: t.TempDir()}) {
		t.Error("What cannot be read may look at the state.")
	}
}
