package runner

import (
	"bytes"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// playbook returns the text of the playbook of a run: the inline text as it is, or a play for each role and an import
// of each named playbook.
func playbook(in inputs.Inputs) []byte {
	p := in.Parameters

	if p.PlaybookInline != "" {
		return []byte(p.PlaybookInline)
	}

	var b bytes.Buffer

	for _, r := range in.Roles {
		name := yamltext.Quote(r.Name)
		b.WriteString("- name: " + name + "\n  hosts: " + yamltext.Quote(hosts(in)) + "\n  roles:\n  - role: " + name + "\n")
	}

	imports := p.Playbooks
	if p.Playbook != "" {
		imports = []string{p.Playbook}
	}

	for _, name := range imports {
		b.WriteString("- import_playbook: " + yamltext.Quote(name) + "\n")
	}

	return b.Bytes()
}

// hosts returns the host pattern of the plays of roles.
func hosts(in inputs.Inputs) string {
	switch {
	case in.Parameters.Hosts != "":
		return in.Parameters.Hosts
	case hasInventory(in):
		return "all"
	}

	return "localhost"
}
