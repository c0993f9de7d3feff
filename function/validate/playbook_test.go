package validate

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// What is said of playbooks is true of Ansible: it refuses those that have a flaw,
// and takes the others.
func TestFlaws(t *testing.T) {
	cases := map[string]struct {
		reason   string
		playbook string
		want     string
	}{
		"Plays":     {reason: "Plays have hosts.", playbook: "- hosts: all\n  tasks:\n  - debug:\n- hosts: [a, b]\n  roles:\n"},
		"Tags":      {reason: "Ansible has tags of its own.", playbook: "- hosts: all\n  vars: {a: !unsafe '{{ b }}'}\n"},
		"Twice":     {reason: "A key that is there twice is no error to Ansible.", playbook: "- hosts: all\n  hosts: localhost\n"},
		"JSON":      {reason: "JSON is YAML.", playbook: "[\n\t{\n\t\t\"hosts\":\t\"all\"\n\t}\n]\n"},
		"Start":     {reason: "A document may have a start.", playbook: "---\n# All hosts.\n- hosts: all\n...\n"},
		"Syntax":    {reason: "YAML is needed.", playbook: "- hosts: all\n  tasks: [\n", want: "the playbook is not YAML: line 2: did not find expected node content"},
		"Indented":  {reason: "Indentation counts.", playbook: "- hosts: all\n tasks: []\n", want: "the playbook is not YAML: line 1: did not find expected '-' indicator"},
		"Documents": {reason: "A playbook is one document.", playbook: "- hosts: all\n---\n- hosts: all\n", want: "the playbook is not YAML: line 2: it must be a single document"},
		"Map":       {reason: "A play alone is no playbook.", playbook: "hosts: all\n", want: "a playbook must be a list of plays"},
		"Text":      {reason: "Neither is a text.", playbook: "# A play.\nplay\n", want: "a playbook must be a list of plays"},
		"Nothing":   {reason: "Nothing is no playbook.", playbook: "# Nothing.\n", want: "a playbook must be a list of plays"},
		"Empty":     {reason: "There has to be a play.", playbook: "[]\n", want: "a playbook must contain at least one play"},
	}

	dir := t.TempDir()
	for name, tc := range cases {
		needs.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(tc.playbook), 0o600))
	}

	refused := refusedByAnsible(t, dir)

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := flaw(tc.playbook); got != tc.want {
				t.Errorf("\n%s\nflaw(...): want %q, got %q", tc.reason, tc.want, got)
			}

			if message, ok := refused[name]; ok != (tc.want != "") {
				t.Errorf("\n%s\nAnsible refuses it: %t: %s", tc.reason, ok, message)
			}
		})
	}
}

// load each playbook of a directory, and print those that cannot be loaded. One
// process is faster than one for each.
const load = `
import json, os, sys
from ansible.parsing.dataloader import DataLoader
from ansible.playbook import Playbook
from ansible.template import Templar
from ansible.vars.manager import VariableManager
refused = {}
for name in os.listdir(sys.argv[1]):
    loader = DataLoader()
    try:
        playbook = Playbook.load(os.path.join(sys.argv[1], name), loader=loader, variable_manager=VariableManager(loader=loader))
        for play in playbook.get_plays():
            play.copy().post_validate(Templar(loader=loader, variables={}))
    except Exception as e:
        refused[name] = str(e)
print(json.dumps(refused))
`

// refusedByAnsible are the playbooks of a directory that Ansible cannot load, by
// name, with its message.
func refusedByAnsible(t *testing.T, dir string) map[string]string {
	t.Helper()

	out, err := exec.CommandContext(t.Context(), filepath.Join(needs.Ansible(t), "python3"), "-c", load, dir).Output()
	needs.OK(t, err)

	refused := map[string]string{}
	needs.OK(t, json.Unmarshal(out, &refused))

	return refused
}
