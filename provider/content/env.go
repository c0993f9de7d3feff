package content

import (
	"maps"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// environment of ansible-galaxy in a workspace: what is allowed of the
// provider's, what the configuration sets, and what keeps the installation
// where it belongs and without questions. What comes later wins.
func environment(own []string, config map[string]string, credentials []inputs.File, w *workspace) []string {
	env := environ.Passed(own)
	env["GIT_SSH_COMMAND"] = "ssh -o BatchMode=yes"

	maps.Copy(env, config)
	maps.Copy(env, map[string]string{
		"HOME":                            w.home,
		"TMPDIR":                          w.temp,
		"ANSIBLE_LOCAL_TEMP":              w.temp,
		"ANSIBLE_NOCOLOR":                 "1",
		"ANSIBLE_FORCE_COLOR":             "0",
		"ANSIBLE_GALAXY_DISPLAY_PROGRESS": "0",
		// A set is complete by itself: what is installed elsewhere does not count.
		"ANSIBLE_COLLECTIONS_PATH":          w.set.CollectionsPath(),
		"ANSIBLE_COLLECTIONS_SCAN_SYS_PATH": "0",
		"ANSIBLE_ROLES_PATH":                w.set.RolesPath(),
		"GIT_TERMINAL_PROMPT":               "0",
		"GIT_ASKPASS":                       "",
		"SSH_ASKPASS_REQUIRE":               "never",
	})

	for _, f := range credentials {
		switch f.Name {
		case ansibleConfig:
			env["ANSIBLE_CONFIG"] = filepath.Join(w.home, ansibleConfig)
		case gitCredentials:
			maps.Copy(env, credentialHelper(config, filepath.Join(w.home, gitCredentials)))
		}
	}

	return environ.List(env)
}

// credentialHelper makes git, and no other process, use a file of credentials,
// instead of all helpers that its own configuration has. It adds to what the
// configuration tells git in the same way.
// https://git-scm.com/docs/git-config#ENVIRONMENT
func credentialHelper(config map[string]string, file string) map[string]string {
	n, _ := strconv.Atoi(config["GIT_CONFIG_COUNT"])
	quoted := "'" + strings.ReplaceAll(file, "'", `'\''`) + "'"

	return map[string]string{
		"GIT_CONFIG_COUNT":                      strconv.Itoa(n + 2),
		"GIT_CONFIG_KEY_" + strconv.Itoa(n):     "credential.helper",
		"GIT_CONFIG_VALUE_" + strconv.Itoa(n):   "",
		"GIT_CONFIG_KEY_" + strconv.Itoa(n+1):   "credential.helper",
		"GIT_CONFIG_VALUE_" + strconv.Itoa(n+1): "store --file=" + quoted,
	}
}
