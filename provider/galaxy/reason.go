package galaxy

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
)

// maxReason is the length of the longest reason, in bytes.
const maxReason = 1024

// Patterns of lines in the output of ansible-galaxy, and of git and ssh. The first group is the message.
var (
	noise = regexp.MustCompile(
		`--ignore-errors|because GnuPG signature verification failed|^fatal: Could not read from remote repository`)
	// Command lines contain temporary directories. The message of the command is in the rest of the line, or in the next
	// lines.
	commands = regexp.MustCompile(`: Command '.*$|: - command .* \(rc=[0-9]+\) - (?:Cloning into .*)?`)
	ofGalaxy = compiled( //nolint:gochecknoglobals // They are never changed.
		`^((?:Could not find |Signature verification failed for |\* \S+:\S+ \().*)$`,
		`^(?:\[ERROR\]: |ERROR! )(?:- )?(.*)$`,
		`^\[WARNING\]: (?:- )?(.*NOT installed successfully.*)$`,
	)
	ofGit = compiled( //nolint:gochecknoglobals // They are never changed.
		`^(?:fatal|error|remote|ERROR): (.+?)\.?$`,
		`^(No \S+ host key is known for .+?)\.?$`,
		`^(Host key for .+ has changed.*?)\.?$`,
		`^(Host key verification failed.*?)\.?$`,
		`^(?:ssh: )?(connect to host .+?|Could not resolve hostname .+?)\.?$`,
		`^(Load key .+?)\.?$`,
		`^(\S+: Permission denied \(.+?)\.?$`,
		`^(kex_exchange_identification: .+?|Connection (?:closed|reset|timed out).*?)\.?$`,
	)
)

func compiled(patterns ...string) []*regexp.Regexp {
	all := make([]*regexp.Regexp, len(patterns))
	for i, p := range patterns {
		all[i] = regexp.MustCompile(p)
	}

	return all
}

// reason returns why ansible-galaxy failed, by its output: its errors and the roles that it did not install, then the
// error of git or ssh. Without any of these it returns the last lines.
func reason(output string) string {
	var (
		galaxy, lines []string
		git           string
	)

	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" || noise.MatchString(line) {
			continue
		}

		lines = append(lines, line)

		s := strings.TrimSuffix(commands.ReplaceAllString(match(line, ofGalaxy), ": "), ": ")
		if s != "" && !slices.Contains(galaxy, s) {
			galaxy = append(galaxy, s)
		}

		// The first message is from ssh or the server, which know more than git. Later ones of git repeat it in other words.
		git = cmp.Or(git, match(line, ofGit))
	}

	why := strings.Join(galaxy, "; ")
	if git != "" {
		why = strings.TrimPrefix(strings.TrimSuffix(why, ".")+": "+git, ": ")
	}

	if why == "" {
		why = strings.Join(lines[max(0, len(lines)-3):], "; ")
	}

	return clip.Text(readable(why), maxReason)
}

// match returns the message in a line by the first pattern that matches; empty for none.
func match(line string, patterns []*regexp.Regexp) string {
	for _, p := range patterns {
		if m := p.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}

	return ""
}

// rewritings shorten a reason for people.
var rewritings = []struct { //nolint:gochecknoglobals // They are never changed.
	from *regexp.Regexp
	to   string
}{
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

// readable returns a reason without details of Ansible's implementation, and without passwords in URLs of requirements,
// which are not masked as secrets since they are in no Secret.
func readable(s string) string {
	s = requirements.WithoutUser(s)

	for _, r := range rewritings {
		s = r.from.ReplaceAllString(s, r.to)
	}

	return s
}
