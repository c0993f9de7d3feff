package runner

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// cfgChecksHostKeys is true if an ansible.cfg says so. Ansible's own default does not
// count.
func cfgChecksHostKeys(cfg inputs.AnsibleConfig) bool {
	return isTrue(cfg.Get("defaults", "host_key_checking")) || isTrue(cfg.Get("ssh_connection", "host_key_checking"))
}

// isTrue reads a boolean as Ansible does.
func isTrue(s string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1", "y", "t"}, strings.ToLower(s))
}

// cfgPaths are the paths that an ansible.cfg in a directory has for an option of the
// section defaults.
func cfgPaths(cfg inputs.AnsibleConfig, option, dir string) []string {
	paths := filepath.SplitList(cfg.Get("defaults", option))

	for i, p := range paths {
		if !filepath.IsAbs(p) && !strings.HasPrefix(p, "~") && !strings.HasPrefix(p, "{{") {
			paths[i] = filepath.Join(dir, p)
		}
	}

	return paths
}
