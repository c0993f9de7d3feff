package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// computed is what function-ansible makes of an inventory in which an XR names hosts or groups.
func computed(group string, names ...string) inputs.File {
	return inputs.File{Name: "spec.forProvider.inventoryInline", Data: fmt.Appendf(nil, `---
"inventory":
  "all":
    "vars":
      "templated": "{{ 1 + 1 }}"
  "nodes": %s
"names": ["%s"]
"plugin": "crossplane.ansible.computed"
`, group, strings.Join(names, `", "`))}
}

// TestComputedNames has the author of an XR name hosts and groups beside those of others, which stay where they are.
func TestComputedNames(t *testing.T) {
	t.Parallel()

	const (
		secret = "infra:\n  hosts:\n    gateway: {ansible_host: gw.internal.example, ansible_password: secret}\n    web[01:20]:\n"
		moved  = `{"hosts": {"%s": {"ansible_host": "evil.example", "text": !unsafe "{{ 2 }}"}}}`
		known  = "inventory: computed names must be new, and these are also in another inventory of the run, or in host_vars " +
			"or group_vars of its project: "
	)

	set := projectSet(t, map[string]string{
		"project/site.yml":                        "- import_playbook: ../playbook.yml\n",
		"project/hosts/script.sh":                 "#!/bin/sh\necho '{\"infra\": {\"hosts\": [\"scripted\"]}}'\n",
		"project/hosts/many.generator.yml":        "plugin: ansible.builtin.generator\nhosts: {name: 'made-{{ n }}'}\nlayers: {n: [one, two]}\n",
		"project/playbooks/host_vars/beside.yml":  "ansible_password: secret\n",
		"project/stages/a/host_vars/whole/x.json": "{}",
		"project/group_vars/racks":                "ansible_password: secret\n",
	})

	needs.OK(t, os.Chmod(filepath.Join(set.Dir, "project/hosts/script.sh"), modeExecutable))

	const playbook = `
- hosts: all
  gather_facts: false
  connection: local
  tasks:
  - ansible.builtin.set_stats:
      aggregate: true
      data: "{{ {inventory_hostname: [ansible_host, templated, text | default('')] | join(' ') | trim} }}"
    when: inventory_hostname in ['gateway', 'n1']
`

	trials, shipped := map[string]trial{}, ships(brought(t))

	for name, tc := range map[string]struct {
		reason  string
		group   string
		names   []string
		project bool
		config  string
		// refused name, and what the play sees otherwise.
		refused string
		want    string
	}{
		"New": {
			reason: "What is literal is templated, what is computed is not, and hosts of others stay as they are.",
			group:  fmt.Sprintf(moved, "n1"), names: []string{"n1"},
			want: `{"gateway":"gw.internal.example 2","n1":"evil.example 2 {{ 2 }}"}`,
		},
		"Host":      {reason: "A host of a Secret keeps its address.", group: fmt.Sprintf(moved, "gateway"), names: []string{"gateway"}, refused: "gateway"},
		"Range":     {reason: "So does one of a range.", group: fmt.Sprintf(moved, "web07"), names: []string{"n1", "web07"}, refused: "web07"},
		"Group":     {reason: "A new host is not in a group that has passwords.", group: `{"children": {"infra": {"hosts": {"n1": {}}}}}`, names: []string{"infra", "n1"}, refused: "infra"},
		"GroupName": {reason: "Nor does a host have the name of a group, which plays select.", group: fmt.Sprintf(moved, "infra"), names: []string{"infra"}, refused: "infra"},
		"All":       {reason: "Nor is one all of them.", group: `{"children": {"all": {}}}`, names: []string{"all"}, refused: "all"},
		"GoesOn": {
			reason: "No configuration has Ansible go on without it.",
			group:  fmt.Sprintf(moved, "gateway"), names: []string{"gateway"}, refused: "gateway", config: "[inventory]\nany_unparsed_is_failed = False\n",
		},
		"Script":    {reason: "A script of the project is asked.", project: true, group: fmt.Sprintf(moved, "scripted"), names: []string{"scripted"}, refused: "scripted"},
		"Plugin":    {reason: "So is a plugin.", project: true, group: fmt.Sprintf(moved, "made-two"), names: []string{"made-two"}, refused: "made-two"},
		"HostVars":  {reason: "A host for which the project has variables is one of its own.", project: true, group: fmt.Sprintf(moved, "beside"), names: []string{"beside"}, refused: "beside"},
		"Directory": {reason: "They may be a directory.", project: true, group: fmt.Sprintf(moved, "whole"), names: []string{"whole"}, refused: "whole"},
		"GroupVars": {reason: "So is such a group.", project: true, group: `{"children": {"racks": {"hosts": {"n1": {}}}}}`, names: []string{"n1", "racks"}, refused: "racks"},
	} {
		of := trial{reason: tc.reason, playbook: playbook, option: shipped, outputs: tc.want}
		of.inputs = func(in *inputs.Inputs) {
			configured(tc.config)(in)

			in.Inventories = []inputs.File{{Name: "infra", Data: []byte(secret)}, computed(tc.group, tc.names...)}
			if tc.project {
				in.Parameters.Project = &common.Project{Src: "x"}
				in.Inventories[0] = inputs.File{Name: "hosts", Path: "hosts"}
			}
		}

		if tc.project {
			of.content = set
		}

		if tc.refused != "" {
			of.want = Result{Phase: common.PhaseFailed, Reason: ReasonPlaybookError, Message: known + tc.refused, Untouched: true}
		}

		trials[name] = of
	}

	try(t, trials)
}
