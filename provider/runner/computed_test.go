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

// computed returns an inventory of function-ansible in which an XR names hosts or groups.
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

// TestComputedNames has an XR that names hosts and groups. It cannot change hosts and groups of other inventories.
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
		// refused is the refused name; empty if the play runs.
		refused string
		want    string
	}{
		"New": {
			reason: "Literal values are templated, computed values are not, and hosts of other inventories do not change.",
			group:  fmt.Sprintf(moved, "n1"), names: []string{"n1"},
			want: `{"gateway":"gw.internal.example 2","n1":"evil.example 2 {{ 2 }}"}`,
		},
		"Refused": {
			reason: "A host of a Secret keeps its address, also a host of a range. A new host is not in a group with passwords, and does not have the name of a group or the name all.",
			group:  `{"children": {"infra": {"hosts": {"n1": {}}}, "all": {}}, "hosts": {"gateway": {}, "web07": {}}}`,
			names:  []string{"n1", "web07", "infra", "gateway", "all"}, refused: "all, gateway, infra, web07",
			// No setting lets Ansible continue without the inventory.
			config: "[inventory]\nany_unparsed_is_failed = False\n",
		},
		"Project": {
			reason: "Scripts and plugins of the project are executed. Hosts and groups with a file or directory of variables in the project belong to it.",
			group:  fmt.Sprintf(moved, "scripted"), project: true,
			names: []string{"n1", "scripted", "made-two", "beside", "whole", "racks"}, refused: "beside, made-two, racks, scripted, whole",
		},
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
			of.want = refused(ReasonPlaybookError, known+tc.refused)
		}

		trials[name] = of
	}

	try(t, trials)
}
