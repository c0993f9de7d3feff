package runner

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

var noPlaybook = regexp.MustCompile(`(?s)^.*Could not find or access '([^']+)' on the Ansible Controller.*$`)

// withoutPaths returns a short error about a missing playbook, for which Ansible's error is that for a file of a
// module.
func withoutPaths(p common.AnsibleRunParameters, message string) string {
	playbook := noPlaybook.FindStringSubmatch(message)
	if playbook != nil && (playbook[1] == p.Playbook || slices.Contains(p.Playbooks, playbook[1])) {
		return "the playbook '" + playbook[1] + "' was not found"
	}

	return message
}

// withUserNames replaces the paths of inventories and files of variables in a text of Ansible with the names that the
// user knows.
func withUserNames(in inputs.Inputs, text string) string {
	var paths []string

	for i, f := range in.Inventories {
		paths = append(paths, inventoryPath(in, i), f.Name)
	}

	for i, f := range in.VarFiles {
		paths = append(paths, varsPath(i), f.Name)
	}

	return strings.NewReplacer(paths...).Replace(text)
}

// withExplanation completes two errors of Ansible. If it cannot read an inventory, only a warning says why. If it
// cannot decrypt a file, it does not name it, and for a file of variables it blames the inventory.
func withExplanation(in inputs.Inputs, message, warnings string) string {
	if strings.HasPrefix(message, "Completely failed to parse inventory source") {
		message += suffix(warnings)
	}

	if names := encryptedFiles(in); len(names) > 0 && strings.Contains(message, "vault secrets") {
		message += " (encrypted as a whole: " + strings.Join(names, "; ") + ")"
	}

	return message
}

// encryptedFiles returns the names of files that are encrypted as a whole with ansible-vault.
func encryptedFiles(in inputs.Inputs) []string {
	var names []string

	for _, f := range slices.Concat(in.VarFiles, in.Inventories) {
		if bytes.HasPrefix(f.Data, []byte(inputs.VaultHeader)) {
			names = append(names, f.Name)
		}
	}

	return names
}

// during returns the task and the play that a run was in, as the end of a message.
func during(s events.Summary) string {
	switch {
	case s.Task != "":
		return fmt.Sprintf(" during task %q of play %q", s.Task, s.Play)
	case s.Play != "":
		return fmt.Sprintf(" during play %q", s.Play)
	}

	return " before the first task"
}

// suffix returns the text as the end of a message; empty if there is no text.
func suffix(s string) string {
	if s == "" {
		return ""
	}

	return ": " + s
}
