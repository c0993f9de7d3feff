package inputs

import (
	"regexp"
	"strings"
)

// AnsibleConfigFile is the name of the credential with Ansible's configuration.
const AnsibleConfigFile = "ansible.cfg"

// An AnsibleConfig maps the section and the option of an ansible.cfg to its value. The option is in lower case.
type AnsibleConfig map[[2]string]string

// AnsibleConfig returns the ansible.cfg of the credentials; nil if there is none.
func (in Inputs) AnsibleConfig() AnsibleConfig {
	f, ok := Find(in.Credentials, AnsibleConfigFile)
	if !ok {
		return nil
	}

	return parseAnsibleConfig(string(f.Data))
}

// sectionDefault is the section with default values for all other sections.
const sectionDefault = "DEFAULT"

// Get returns the value of an option, such as roles_path in the section defaults; empty if it is not set.
func (c AnsibleConfig) Get(section, option string) string {
	if value, ok := c[[2]string{section, option}]; ok {
		return value
	}

	return c[[2]string{sectionDefault, option}]
}

// cfgComment matches a comment: a line with #, or text after a semicolon, which may follow a value.
var cfgComment = regexp.MustCompile(`^\s*#.*|(?:^|\s);.*`)

// parseAnsibleConfig parses an ansible.cfg like Ansible, which uses Python's configparser. A line with a deeper
// indentation than its option continues the value of the option. Lines that configparser refuses are skipped: Ansible
// reports them.
// https://docs.python.org/3/library/configparser.html#supported-ini-file-structure
func parseAnsibleConfig(text string) AnsibleConfig {
	var (
		// lines of values are joined once: there may be very many.
		lines  = map[[2]string][]string{}
		key    [2]string
		option bool
		indent int
	)

	for line := range strings.Lines(text) {
		line = strings.TrimRight(cfgComment.ReplaceAllString(line, ""), " \t\r\n")
		value := strings.TrimLeft(line, " \t")
		level := len(line) - len(value)

		switch i := strings.IndexAny(value, "=:"); {
		case value == "":
			continue
		case option && level > indent:
			lines[key] = append(lines[key], value)

			continue
		case value[0] == '[':
			key[0], _, _ = strings.Cut(value[1:], "]")
			option = false
		case i >= 0:
			key[1] = strings.ToLower(strings.TrimSpace(value[:i]))
			lines[key] = []string{strings.TrimSpace(value[i+1:])}
			option = true
		}

		indent = level
	}

	c := make(AnsibleConfig, len(lines))
	for key, value := range lines {
		c[key] = strings.Join(value, "\n")
	}

	return c
}
