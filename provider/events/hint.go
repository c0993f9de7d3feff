package events

import (
	"regexp"
	"slices"
	"strings"
)

// A hint says what to do about failures of a kind.
type hint struct {
	of *regexp.Regexp
	// confined is true for what may be the confinement of the run.
	confined bool
	text     string
}

// hints of which the first one that matches counts.
var hints = []hint{ //nolint:gochecknoglobals // Go has no constant slices.
	{
		of: regexp.MustCompile(`out of pty devices`), confined: true,
		text: "on the provider itself (localhost) content has no terminals unless a cluster scoped configuration has " +
			"/dev/ptmx and /dev/pts in spec.confinement.writePaths",
	},
	{
		// None, too: so Ansible calls that it cannot read a file that is there.
		of: regexp.MustCompile(`Permission denied|Operation not permitted|no new privileges|` +
			`Failed to create temporary directory|Failed to get information on remote file \(.*\): None`), confined: true,
		text: "on the provider itself (localhost) content may do only what spec.confinement of its configuration, or a " +
			"flag --read-path or --write-path, allows",
	},
	{
		of: regexp.MustCompile(`no vault secrets|[Vv]ault password`),
		text: "the password is in a credential of the configuration, which ANSIBLE_VAULT_PASSWORD_FILE in its spec.vars, " +
			"or vault_password_file in an ansible.cfg, names",
	},
	{
		of: regexp.MustCompile(`connect to (host|address) (127\.[\d.]+|localhost|::1) port \d+: Connection refused`),
		text: "this address is the provider itself, which has no ssh: give the address of the host, or, to run there, " +
			"ansible_connection: local",
	},
	{
		of:   regexp.MustCompile(`become success: sudo: a password is required|(Missing|Incorrect) sudo password`),
		text: "the password is ansible_become_password, in an inventory or a file of variables",
	},
	{
		of: regexp.MustCompile(`couldn't resolve module/action|the (role|playbook) '[^']+' was not found`),
		text: "unless it is misspelt, its role or collection is to be in spec.requirements of the configuration, or in the " +
			"requirements.yml of a project",
	},
}

// noRole matches the directories that were searched for a role. Users do not know these.
var noRole = regexp.MustCompile(`[Tt](he role '[^']+' was not found) in:? \S+`)

// WithHint returns a message about a failure with what to do in its first line. Confined is true where the confinement
// of the run may be the cause.
func WithHint(message string, confined bool) string {
	message = noRole.ReplaceAllString(message, "t${1}")

	i := slices.IndexFunc(hints, func(h hint) bool { return (confined || !h.confined) && h.of.MatchString(message) })
	if i < 0 {
		return message
	}

	return appended(message, "; "+hints[i].text)
}

// appended returns a message with a text at the end of its first line.
func appended(message, text string) string {
	line, rest, _ := strings.Cut(message, "\n")

	return strings.TrimSuffix(strings.TrimSuffix(line, ".")+text+"\n"+rest, "\n")
}
