package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestRunInventoryPlugin has plugins that take only files of names that a text does not have.
func TestRunInventoryPlugin(t *testing.T) {
	t.Parallel()

	plugin := func(suffix, parse string) string {
		return `
DOCUMENTATION = "name: x\nshort_description: x\ndescription: [x]\noptions: {plugin: {description: x, required: true}, prefix: {description: x, required: true}}\n"
from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin
class InventoryModule(BaseInventoryPlugin):
    NAME = "acme.cloud.x"
    def verify_file(self, path):
        return super().verify_file(path) and path.endswith("` + suffix + `")
    def parse(self, inventory, loader, path, cache=True):
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
` + parse
	}
	add := `
        inventory.add_host(self.get_option("prefix") + "1")
        inventory.set_variable(self.get_option("prefix") + "1", "answer", "{{ 6 * 7 }}")
`
	const dir = "collections/ansible_collections/acme/cloud/plugins/inventory/"

	set := content.Set{Dir: write(t, map[string]string{
		dir + "own_name.py":   plugin("own_name.yml", add),
		dir + "other_name.py": plugin("docker.yml", add),
		dir + "failing.py":    plugin("docker.yml", `        raise AnsibleParserError("the server is down")`),
	})}

	cases := map[string]struct {
		reason      string
		inventories []string
		cfg         string
		want        string
		hosts       int
	}{
		"OwnName":   {reason: "Most plugins take files of their own name.", inventories: []string{"{plugin: acme.cloud.own_name, prefix: a}"}, hosts: 1},
		"OtherName": {reason: "A plugin need not be asked for the name.", inventories: []string{"plugin: acme.cloud.other_name\nprefix: a\n"}, hosts: 1},
		"Several": {
			reason: "Inventories of all kinds may be beside each other.",
			inventories: []string{
				"plugin: acme.cloud.other_name\nprefix: a\n", "plugin: acme.cloud.own_name\nprefix: b\n", "[web]\nh1\n", "all: {hosts: {h2: }}\n",
			},
			hosts: 4,
		},
		"Enabled": {
			reason:      "An ansible.cfg may say which plugins there are.",
			inventories: []string{"plugin: acme.cloud.other_name\nprefix: a\n", "h1\n"},
			cfg:         "[inventory]\nenable_plugins = acme.cloud.own_name,\n  ini\n",
			hosts:       2,
		},
		"Fails": {
			reason:      "What the plugin itself says is in the error.",
			inventories: []string{"plugin: acme.cloud.failing\nprefix: a\n"},
			want:        "the server is down",
		},
		"Missing": {
			reason:      "So is a plugin that is not there.",
			inventories: []string{"plugin: acme.cloud.none\n"},
			want:        "specifies unknown plugin 'acme.cloud.none'",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			run := inline("- hosts: all\n  gather_facts: false\n  tasks:\n  - ansible.builtin.set_fact: {x: \"{{ answer | default('') }}\"}\n    connection: local\n")
			run.Content = set

			for _, text := range tc.inventories {
				run.Inputs.Inventories = append(run.Inputs.Inventories, inputs.File{Data: []byte(text)})
			}

			if tc.cfg != "" {
				run.Inputs.Credentials = []inputs.File{{Name: inputs.AnsibleConfigFile, Data: []byte(tc.cfg)}}
			}

			res, err := newRunner(t, WithShipped(brought(t))).Run(t.Context(), run, events.Watch{})
			if err != nil {
				t.Fatal(err)
			}

			if (res.Phase == common.PhaseSucceeded) != (tc.want == "") || !strings.Contains(res.Message, tc.want) {
				t.Errorf("\n%s\nRun(...): want message %q, got %s: %s", tc.reason, tc.want, res.Phase, res.Message)
			}

			if diff := cmp.Diff(tc.hosts, res.Summary.Processed); diff != "" {
				t.Errorf("\n%s\nRun(...): -want hosts, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRunLocalPython has hosts that are this machine, with the Python of Ansible unless another one is named.
func TestRunLocalPython(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	// It shows that it was used: modules run in it.
	other := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(other, []byte("#!/bin/sh\nOTHER=yes exec /usr/bin/env python3 \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}

	own := `ansible_python_interpreter == ansible_playbook_python`

	cases := map[string]struct {
		reason    string
		inventory string
		playbook  string
		cfg       string
		assert    string
	}{
		"Local":      {reason: "A local connection is to this machine.", inventory: "h1 ansible_connection=local\n", assert: own},
		"LocalYAML":  {reason: "A group may say so, too.", inventory: "all: {hosts: {h1: }, vars: {ansible_connection: local}}\n", assert: own},
		"Keyword":    {reason: "So may a play.", inventory: "h1\n", playbook: "  connection: local\n", assert: own},
		"Host":       {reason: "A host may have another Python.", inventory: "h1 ansible_connection=local ansible_python_interpreter=" + other + "\n", assert: "ansible_env.OTHER == 'yes'"},
		"All":        {reason: "All hosts may have another one.", inventory: "h1\n[all:vars]\nansible_connection=local\nansible_python_interpreter=" + other + "\n", assert: "ansible_env.OTHER == 'yes'"},
		"Configured": {reason: "So may the ansible.cfg.", inventory: "h1 ansible_connection=local\n", cfg: "[defaults]\ninterpreter_python = " + other + "\n", assert: "ansible_env.OTHER == 'yes'"},
		"Plugins":    {reason: "An ansible.cfg may leave out plugins.", inventory: "h1 ansible_connection=local ansible_python_interpreter=" + other + "\n", cfg: "[inventory]\nenable_plugins = ini\n", assert: "ansible_env.OTHER == 'yes'"},
		"Remote":     {reason: "Any other host is asked for its own.", inventory: "h1\n", playbook: "  gather_facts: false\n", assert: "ansible_python_interpreter == 'auto'"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			run := inline("- hosts: all\n" + tc.playbook + "  tasks:\n  - ansible.builtin.assert: {that: \"" + tc.assert + "\"}\n")
			run.Inputs.Inventories = []inputs.File{{Data: []byte(tc.inventory)}}

			if tc.cfg != "" {
				run.Inputs.Credentials = []inputs.File{{Name: inputs.AnsibleConfigFile, Data: []byte(tc.cfg)}}
			}

			if diff := cmp.Diff(Result{Phase: common.PhaseSucceeded}, must(t, newRunner(t), run), ignoreSummary()); diff != "" {
				t.Errorf("\n%s\nRun(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
