package runner

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestRunInventoryPlugin has plugins that accept only files with a certain name, which an inventory in a Secret or
// ConfigMap lacks.
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
`
	const dir = "collections/ansible_collections/acme/cloud/plugins/inventory/"

	set := content.Set{Dir: write(t, map[string]string{
		dir + "own_name.py":   plugin("own_name.yml", add),
		dir + "other_name.py": plugin("docker.yml", add),
		dir + "failing.py":    plugin("docker.yml", `        raise AnsibleParserError("the server is down")`),
	})}

	const (
		play  = "- hosts: all\n  gather_facts: false\n  tasks: [{ansible.builtin.set_stats: {data: {hosts: '{{ ansible_play_hosts | sort }}'}}, run_once: true}]\n"
		other = "plugin: acme.cloud.other_name\nprefix: a\n"
	)

	failed, shipped := refused(ReasonPlaybookError, ""), ships(brought(t))

	trials := map[string]trial{
		"Several": {
			reason:  "Most plugins accept only files with their own name. The user does not have to set that name. Inventories of all types can be used together.",
			inputs:  configured("", other, "plugin: acme.cloud.own_name\nprefix: b\n", "[web]\nh1\n", "all: {hosts: {h2: }}\n"),
			outputs: `{"hosts":["a1","b1","h1","h2"]}`,
		},
		"Enabled": {
			reason:  "An ansible.cfg may list the enabled plugins, and leave out the yaml plugin.",
			inputs:  configured("[inventory]\nenable_plugins = acme.cloud.own_name,\n  ini\n", other, "h1\n"),
			outputs: `{"hosts":["a1","h1"]}`,
		},
		"Fails": {reason: "The error contains the error of the plugin.", inputs: configured("", "plugin: acme.cloud.failing\nprefix: a\n"), want: failed, says: []string{"the server is down"}},
	}

	for name, tc := range trials {
		tc.playbook, tc.content, tc.option = play, set, shipped
		trials[name] = tc
	}

	try(t, trials)
}

// TestRunLocalPython has hosts with a local connection. They use the Python of Ansible unless another one is set.
func TestRunLocalPython(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	// This interpreter shows that modules run in it.
	other := filepath.Join(t.TempDir(), "python")
	needs.OK(t, os.WriteFile(other, []byte("#!/bin/sh\nOTHER=yes exec /usr/bin/env python3 \"$@\"\n"), 0o700))

	const (
		own  = "ansible_python_interpreter == ansible_playbook_python"
		used = "ansible_env.OTHER == 'yes'"
	)

	set := "ansible_python_interpreter=" + other + "\n"
	play := func(hosts, keyword, that string) string {
		return "- hosts: " + hosts + "\n" + keyword + "  tasks:\n  - ansible.builtin.assert: {that: \"" + that + "\"}\n"
	}

	try(t, map[string]trial{
		"Hosts": {
			reason: "A host, a group or a play may set a local connection, and a host another Python. Ansible looks for the Python of any other host.",
			inputs: configured("", "h1 ansible_connection=local\nh2 ansible_connection=local "+set+"h4\n", "all: {children: {g: {hosts: {h3: }, vars: {ansible_connection: local}}}}\n"),
			playbook: play("h1:h2:h3", "", own+" if inventory_hostname != 'h2' else "+used) +
				play("h4", "  gather_facts: false\n", "ansible_python_interpreter == 'auto'") + play("h4", "  connection: local\n", own),
		},
		"Configured": {reason: "An ansible.cfg may set another Python.", inputs: configured("[defaults]\ninterpreter_python = "+other+"\n", "h1 ansible_connection=local\n"), playbook: play("all", "", used)},
		"All":        {reason: "The variables of all hosts may set another Python.", inputs: configured("", "h1\n[all:vars]\nansible_connection=local\n"+set), playbook: play("all", "", used)},
	})
}

// TestRunInventoryScripts executes inventories as scripts, in the working directory of the play.
func TestRunInventoryScripts(t *testing.T) {
	t.Parallel()

	try(t, map[string]trial{"Script": {
		reason: "A script has the credentials and the environment of the play, with the locale that Python needs at its start. " +
			"Ansible parses a script that cannot be executed as text.",
		cold:     "variable LC_NUMERIC",
		playbook: "- hosts: web\n  gather_facts: false\n  tasks:\n  - ansible.builtin.set_stats: {data: {hosts: \"{{ ansible_play_hosts }}\"}}\n    run_once: true\n",
		inputs: func(in *inputs.Inputs) {
			in.Parameters.ExecutableInventory = true
			in.Inventories = []inputs.File{
				{Data: []byte("#!/bin/sh\necho '{\"web\": {\"hosts\": [\"'$(cat token)'\", \"'$ZONE'\"]}, \"_meta\": {\"hostvars\": {}}}'\n")},
				{Data: []byte("[web]\nplain\n")},
			}
			in.Credentials = []inputs.File{{Name: "token", Data: []byte("from-token")}}
			in.Env = map[string]string{"ZONE": "of the configuration", "LC_NUMERIC": "C.UTF-8"}
			in.PlayEnv = []inputs.File{{Name: "ZONE", Data: []byte("from-zone")}}
		},
		outputs: `{"hosts":["from-token","from-zone","plain"]}`,
	}})
}
