package runner

import (
	"go.yaml.in/yaml/v3"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// playbook returns the text of the playbook of a run: a play for each role, an import for
// each playbook of a collection, or the inline text as it is.
func playbook(in inputs.Inputs) ([]byte, error) {
	p := in.Parameters

	if p.PlaybookInline != "" {
		return []byte(p.PlaybookInline), nil
	}

	var plays []any

	for _, r := range in.Roles {
		plays = append(plays, map[string]any{"name": r.Name, "hosts": hosts(in), "roles": []any{map[string]any{"role": r.Name}}})
	}

	imports := p.Playbooks
	if p.Playbook != "" {
		imports = []string{p.Playbook}
	}

	for _, name := range imports {
		plays = append(plays, map[string]any{"import_playbook": name})
	}

	if len(plays) == 0 {
		return nil, errors.New("one of role, roles, playbook, playbooks and playbookInline must be set in spec.forProvider")
	}

	text, err := yaml.Marshal(node(plays, 0))

	return text, errors.Wrap(err, "cannot write the playbook")
}

// hosts is the pattern of the hosts of plays for roles.
func hosts(in inputs.Inputs) string {
	switch {
	case in.Parameters.Hosts != "":
		return in.Parameters.Hosts
	case hasInventory(in):
		return "all"
	}

	return "localhost"
}
