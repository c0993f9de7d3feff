package galaxy

import (
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

// maxReason is the length of the longest reason, in bytes.
const maxReason = 1024

// Patterns of lines in the output of ansible-galaxy, git and ssh.
var (
	unresolved = regexp.MustCompile(`^\* \S+:\S+ \(`)
	commandRun = regexp.MustCompile(`: - command .* \(rc=[0-9]+\) - (Cloning into .*)?`)
	causes     = compiled( //nolint:gochecknoglobals // They are never changed.
		`^(?:fatal|error|remote|ERROR): (.+)$`,
		`^(No \S+ host key is known for .+)$`,
		`^(Host key for .+ has changed.*)$`,
		`^(Host key verification failed.*)$`,
		`^(?:ssh: )?(connect to host .+|Could not resolve hostname .+)$`,
		`^(Load key .+)$`,
		`^(\S+: Permission denied \(.+)$`,
		`^(kex_exchange_identification: .+|Connection (?:closed|reset|timed out).*)$`,
	)
)

func compiled(patterns ...string) []*regexp.Regexp {
	all := make([]*regexp.Regexp, len(patterns))
	for i, p := range patterns {
		all[i] = regexp.MustCompile(p)
	}

	return all
}

// reason returns why ansible-galaxy failed, by its output: its errors and the roles that it did
// not install, then the error of git or ssh. Without any of these it returns the last lines.
func reason(output string) string {
	var galaxy, git, last []string

	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}

		if last = append(last, line); len(last) > 3 {
			last = last[1:]
		}

		if s := galaxyReason(line); s != "" && !slices.Contains(galaxy, s) {
			galaxy = append(galaxy, s)
		}

		if s := gitReason(line); s != "" && !slices.Contains(git, s) {
			git = append(git, s)
		}
	}

	said := strings.Join(galaxy, "; ")

	// The first line of git and ssh is from ssh or the server, which know more than git. git
	// only repeats it in other words.
	if len(git) > 0 {
		said = strings.TrimPrefix(strings.TrimSuffix(said, ".")+": "+git[0], ": ")
	}

	if said == "" {
		said = strings.Join(last, "; ")
	}

	return clip.Text(readable(said), maxReason)
}

// galaxyReason returns what ansible-galaxy says in a line about its failure; empty when it
// says nothing.
func galaxyReason(line string) string {
	switch {
	case strings.Contains(line, "--ignore-errors"), strings.Contains(line, "because GnuPG signature verification failed"):
		return ""
	case strings.HasPrefix(line, "Could not find "), strings.HasPrefix(line,
		"Signature verification failed for "), unresolved.MatchString(line):
		return line
	}

	for _, prefix := range []string{"[ERROR]: ", "ERROR! ", "[WARNING]: "} {
		s, ok := strings.CutPrefix(line, prefix)
		if !ok || strings.Contains(prefix, "WARNING") && !strings.Contains(s, "NOT installed successfully") {
			continue
		}

		return strings.TrimPrefix(withoutCommands(s), "- ")
	}

	return ""
}

// gitReason returns what git, ssh or their server says in a line about the failure; empty when
// that does not help.
func gitReason(line string) string {
	for _, known := range causes {
		m := known.FindStringSubmatch(line)
		if m != nil && !strings.HasPrefix(m[1], "Could not read from remote repository") {
			return strings.TrimSuffix(m[1], ".")
		}
	}

	return ""
}

// withoutCommands leaves out command lines, which have temporary directories. The messages of
// the commands are in the rest of the line, or in the next ones.
func withoutCommands(s string) string {
	s, _, _ = strings.Cut(s, ": Command '")
	s = commandRun.ReplaceAllString(s, ": ")

	return strings.TrimSuffix(s, ": ")
}

// rewritings of a reason for its readers.
var rewritings = []struct { //nolint:gochecknoglobals // They are never changed.
	from *regexp.Regexp
	to   string
}{
	{from: regexp.MustCompile(`(https?)://[^/@\s]*@`), to: "$1://"},
	{from: regexp.MustCompile(`<urlopen error (?:\[Errno -?[0-9]+\] )?(.*?)>`), to: "$1"},
	{from: regexp.MustCompile(`\[SSL: [A-Z_]+\] `), to: ""},
	{from: regexp.MustCompile(`\.? \(?CAfile: \S+ CRLfile: [^\s)]+\)?`), to: ""},
	{from: regexp.MustCompile(` \(_ssl\.c:[0-9]+\)`), to: ""},
	{from: regexp.MustCompile(`/\S*/ansible-local-[^/\s]*/(?:[^/\s]*/)*`), to: ""},
	{from: regexp.MustCompile(`"/\S*/home/([^/\s]+)"`), to: "$1"},
	{from: regexp.MustCompile(`\{[^{}]*'name': '([^']*)'[^{}]*\}`), to: "$1"},
	{from: regexp.MustCompile(`: - `), to: ": "},
	{from: regexp.MustCompile(`: ?; \* `), to: ": "},
	{from: regexp.MustCompile(`; \* `), to: ", "},
	{from: regexp.MustCompile(`Unexpected Exception, this is probably a bug: `), to: ""},
	{from: regexp.MustCompile(` due to the following unforeseen error: `), to: ": "},
	{from: regexp.MustCompile(`:$`), to: ""},
}

// readable returns a reason without what only developers of Ansible understand, and without
// passwords in URLs of requirements. These are not redacted, since no Secret has them.
func readable(s string) string {
	for _, r := range rewritings {
		s = r.from.ReplaceAllString(s, r.to)
	}

	return s
}
