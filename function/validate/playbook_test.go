package validate

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestFlaws compares the mistakes in playbooks with Ansible: it must refuse playbooks with a flaw, and load the others.
func TestFlaws(t *testing.T) {
	cases := map[string]struct {
		reason   string
		playbook string
		want     string
	}{
		"Plays":     {reason: "A list of plays is valid.", playbook: "- hosts: all\n  tasks:\n  - debug:\n- hosts: [a, b]\n  roles:\n"},
		"Tags":      {reason: "Tags of Ansible are valid.", playbook: "- hosts: all\n  vars: {a: !unsafe '{{ b }}'}\n"},
		"Twice":     {reason: "Duplicate keys are valid for Ansible.", playbook: "- hosts: all\n  hosts: localhost\n"},
		"JSON":      {reason: "JSON is valid.", playbook: "[\n\t{\n\t\t\"hosts\":\t\"all\"\n\t}\n]\n"},
		"Start":     {reason: "A document with a start and an end is valid.", playbook: "---\n# All hosts.\n- hosts: all\n...\n"},
		"Syntax":    {reason: "Invalid YAML is a mistake.", playbook: "- hosts: all\n  tasks: [\n", want: "the playbook is not YAML: line 2: did not find expected node content"},
		"Indented":  {reason: "Wrong indentation is a mistake.", playbook: "- hosts: all\n tasks: []\n", want: "the playbook is not YAML: line 1: did not find expected '-' indicator"},
		"Documents": {reason: "Several documents are a mistake.", playbook: "- hosts: all\n---\n- hosts: all\n", want: "the playbook is not YAML: line 2: it must be a single document"},
		"Map":       {reason: "A single play is a mistake.", playbook: "hosts: all\n", want: "a playbook must be a list of plays"},
		"Text":      {reason: "A string is a mistake.", playbook: "# A play.\nplay\n", want: "a playbook must be a list of plays"},
		"Nothing":   {reason: "An empty document is a mistake.", playbook: "# Nothing.\n", want: "a playbook must be a list of plays"},
		"Empty":     {reason: "An empty list is a mistake.", playbook: "[]\n", want: "a playbook must contain at least one play"},
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

// load is a Python program that loads each playbook of a directory, and prints those that cannot be loaded. One process
// for all is faster than one for each.
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

// refusedByAnsible returns the messages of Ansible about playbooks of a directory that it cannot load, by name.
func refusedByAnsible(t *testing.T, dir string) map[string]string {
	t.Helper()

	out, err := exec.CommandContext(t.Context(), filepath.Join(needs.Ansible(t), "python3"), "-c", load, dir).Output()
	needs.OK(t, err)

	refused := map[string]string{}
	needs.OK(t, json.Unmarshal(out, &refused))

	return refused
}
