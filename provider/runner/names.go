package runner

import (
	"bytes"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// named replaces paths in what Ansible says of inventories and files of
// variables by what the user knows them as.
func named(in inputs.Inputs, text string) string {
	var paths []string

	for i, f := range in.Inventories {
		paths = append(paths, inventoryPath(in, i), f.Name)
	}

	for i, f := range in.VarFiles {
		paths = append(paths, varsPath(i), f.Name)
	}

	return strings.NewReplacer(paths...).Replace(text)
}

// explained adds to an error of Ansible's what it says elsewhere or not at all:
// why it cannot read an inventory, and which files it cannot decrypt. It blames
// the inventory, which it reads first, for files of variables.
func explained(in inputs.Inputs, message, warnings string) string {
	if strings.HasPrefix(message, "Completely failed to parse inventory source") {
		message += suffix(warnings)
	}

	if names := encrypted(in); len(names) > 0 && strings.Contains(message, "vault secrets") {
		message += " (encrypted as a whole: " + strings.Join(names, "; ") + ")"
	}

	return message
}

// encrypted files, by name.
func encrypted(in inputs.Inputs) []string {
	var names []string

	for _, f := range slices.Concat(in.VarFiles, in.Inventories) {
		if bytes.HasPrefix(f.Data, []byte(inputs.VaultHeader)) {
			names = append(names, f.Name)
		}
	}

	return names
}
