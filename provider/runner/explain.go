package runner

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// maxInstalled is how many collections and roles a message lists.
const maxInstalled = 10

var (
	noRole     = regexp.MustCompile(`^(the role '[^']+' was not found) in \S+`)
	noPlaybook = regexp.MustCompile(`(?s)^.*Could not find or access '([^']+)' on the Ansible Controller.*$`)
	noModule   = regexp.MustCompile(`^couldn't resolve module/action '[^']+'`)
	denied     = regexp.MustCompile(`Permission denied|Operation not permitted|no new privileges`)
	noTerminal = regexp.MustCompile(`out of pty devices`)
)

// missed replaces, in an error about content that Ansible cannot find, the directories that
// it has searched by the content that is installed. Users do not know the directories.
func missed(run Spec, message string) string {
	there := " (installed: " + installed(run.Content) + ")"

	p := run.Inputs.Parameters

	switch playbook := noPlaybook.FindStringSubmatch(message); {
	case noRole.MatchString(message):
		return noRole.ReplaceAllString(message, "${1}"+there)
	case playbook != nil && (playbook[1] == p.Playbook || slices.Contains(p.Playbooks, playbook[1])):
		return "the playbook '" + playbook[1] + "' was not found" + there
	case noModule.MatchString(message):
		return noModule.ReplaceAllString(message, "${0}"+there)
	}

	return message
}

// installed content, by name and version.
func installed(set content.Set) string {
	var items []string

	for _, i := range slices.Concat(set.Collections, set.Roles) {
		items = append(items, strings.TrimSpace(i.Name+" "+i.Version))
	}

	switch n := len(items); {
	case n == 0:
		return "nothing"
	case n > maxInstalled:
		items = append(items[:maxInstalled], fmt.Sprintf("and %d more", n-maxInstalled))
	}

	return strings.Join(items, ", ")
}

// confinedTo explains a failure of a task on the provider itself that the confinement may
// have caused; empty if it cannot have.
func confinedTo(f common.Failure) string {
	switch {
	case f.Host != "localhost":
		return ""
	case noTerminal.MatchString(f.Message):
		return "; localhost is the provider itself, where content has no terminals"
	case denied.MatchString(f.Message):
		return "; localhost is the provider itself, where content may do only what spec.confinement of its configuration allows"
	}

	return ""
}

// named replaces the paths of inventories and files of variables in a text of Ansible's by
// the names that the user knows.
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

// explained adds to an error of Ansible's what Ansible says in a warning or not at all: why it
// cannot read an inventory, and which files it may have failed to decrypt. For a file of
// variables it blames the inventory, which it reads first.
func explained(in inputs.Inputs, message, warnings string) string {
	if strings.HasPrefix(message, "Completely failed to parse inventory source") {
		message += suffix(warnings)
	}

	if names := encrypted(in); len(names) > 0 && strings.Contains(message, "vault secrets") {
		message += " (encrypted as a whole: " + strings.Join(names, "; ") + ")"
	}

	return message
}

// encrypted are the names of files that ansible-vault has encrypted as a whole.
func encrypted(in inputs.Inputs) []string {
	var names []string

	for _, f := range slices.Concat(in.VarFiles, in.Inventories) {
		if bytes.HasPrefix(f.Data, []byte(inputs.VaultHeader)) {
			names = append(names, f.Name)
		}
	}

	return names
}

// during says where in the play a run was.
func during(s events.Summary) string {
	switch {
	case s.Task != "":
		return fmt.Sprintf(" during task %q of play %q", s.Task, s.Play)
	case s.Play != "":
		return fmt.Sprintf(" during play %q", s.Play)
	}

	return " before the first task"
}

// suffix of a message; empty if there is no text.
func suffix(s string) string {
	if s == "" {
		return ""
	}

	return ": " + s
}
