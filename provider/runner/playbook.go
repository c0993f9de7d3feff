package runner

import (
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// playbook returns the text of the one playbook that a run consists of: a play
// per role, an import per playbook of a collection, or the inline text as it
// is.
func playbook(in inputs.Inputs) ([]byte, error) {
	p := in.Parameters

	if p.PlaybookInline != "" {
		return []byte(p.PlaybookInline), nil
	}

	var b strings.Builder

	for _, r := range in.Roles {
		b.WriteString("- name: " + yamltext.Quote(r.Name) + "\n")
		b.WriteString("  hosts: " + yamltext.Quote(hosts(in)) + "\n")
		b.WriteString("  roles:\n")
		b.WriteString("  - role: " + yamltext.Quote(r.Name) + "\n")
	}

	imports := p.Playbooks
	if p.Playbook != "" {
		imports = []string{p.Playbook}
	}

	for _, name := range imports {
		b.WriteString("- import_playbook: " + yamltext.Quote(name) + "\n")
	}

	if b.Len() == 0 {
		return nil, errors.New("one of role, roles, playbook, playbooks and playbookInline must be set in spec.forProvider")
	}

	return []byte(b.String()), nil
}

// hosts is the pattern of the plays that are made for roles.
func hosts(in inputs.Inputs) string {
	switch {
	case in.Parameters.Hosts != "":
		return in.Parameters.Hosts
	case hasInventory(in):
		return "all"
	}

	return "localhost"
}
