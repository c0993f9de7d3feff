package inputs

import (
	"regexp"
	"strings"
)

// AnsibleConfigFile is the name of the credential that is Ansible's configuration.
const AnsibleConfigFile = "ansible.cfg"

// An AnsibleConfig is what an ansible.cfg sets: section and option, in lower case, to
// value.
type AnsibleConfig map[[2]string]string

// AnsibleConfig of the inputs; nil if no credential is an ansible.cfg.
func (in Inputs) AnsibleConfig() AnsibleConfig {
	f, ok := Find(in.Credentials, AnsibleConfigFile)
	if !ok {
		return nil
	}

	return parseAnsibleConfig(string(f.Data))
}

// sectionDefault has the options that all other sections have, too, unless they set them.
const sectionDefault = "DEFAULT"

// Get an option, such as roles_path of the section defaults; empty if it is not set.
func (c AnsibleConfig) Get(section, option string) string {
	if value, ok := c[[2]string{section, option}]; ok {
		return value
	}

	return c[[2]string{sectionDefault, option}]
}

// cfgComment matches a comment: a semicolon may follow a value.
var cfgComment = regexp.MustCompile(`^\s*#.*|(?:^|\s);.*`)

// parseAnsibleConfig reads an ansible.cfg as Ansible does, with Python's configparser.
// A line that is further to the right than its option continues the option's value.
// What configparser would refuse is skipped: Ansible says so.
// https://docs.python.org/3/library/configparser.html#supported-ini-file-structure
func parseAnsibleConfig(text string) AnsibleConfig {
	var (
		// lines of values, which are joined once: there may be very many.
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
