package runner

import (
	"path/filepath"
	"slices"
	"strings"
)

// An ansibleConfig is what an ansible.cfg sets: section and option, in lower
// case, to value.
type ansibleConfig map[[2]string]string

// parseConfig reads an ansible.cfg as Python's configparser does, as far as
// single lines go.
func parseConfig(data []byte) ansibleConfig {
	c := ansibleConfig{}
	section := ""

	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)

		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}

		if name, ok := strings.CutPrefix(line, "["); ok {
			section = strings.TrimSuffix(name, "]")

			continue
		}

		i := strings.IndexAny(line, "=:")
		if i < 0 {
			continue
		}

		value, _, _ := strings.Cut(line[i+1:], " ;")
		c[[2]string{section, strings.ToLower(strings.TrimSpace(line[:i]))}] = strings.TrimSpace(value)
	}

	return c
}

func (c ansibleConfig) get(section, option string) string { return c[[2]string{section, option}] }

// checksHostKeys is true if the configuration asks for it. Ansible's own
// default does not count.
func (c ansibleConfig) checksHostKeys() bool {
	return isTrue(c.get("defaults", "host_key_checking")) || isTrue(c.get("ssh_connection", "host_key_checking"))
}

// isTrue reads a boolean as Ansible does.
func isTrue(s string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1", "y", "t"}, strings.ToLower(s))
}

// paths of an option, relative to a directory.
func (c ansibleConfig) paths(option, dir string) []string {
	var paths []string

	for _, p := range filepath.SplitList(c.get("defaults", option)) {
		if !filepath.IsAbs(p) && !strings.HasPrefix(p, "~") && !strings.HasPrefix(p, "{{") {
			p = filepath.Join(dir, p)
		}

		paths = append(paths, p)
	}

	return paths
}
