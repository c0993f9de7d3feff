package runner

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
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

// missed says of content that Ansible does not find what there is instead of
// where it has looked: directories of the provider's, which tell the reader
// nothing.
func missed(run Run, message string) string {
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

// confinedTo is what to think of when a task on the provider itself was not
// allowed to do something.
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
