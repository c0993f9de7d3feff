package content

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// allowed is what ansible-galaxy and git get of the provider's own environment:
// where programs are, how to reach the network, and which language to speak.
// The rest is none of their business.
func allowed(environ []string) map[string]string {
	names := []string{
		"PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
	}

	// Ansible refuses to work where the encoding is not UTF-8.
	env := map[string]string{"LANG": "C.UTF-8"}

	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && slices.Contains(names, name) {
			env[name] = value
		}
	}

	return env
}

// environment of ansible-galaxy in a workspace: what is allowed of the
// provider's, what the configuration sets, and what keeps the installation
// where it belongs and without questions. What comes later wins.
func environment(environ []string, config map[string]string, credentials []inputs.File, w *workspace) []string {
	env := allowed(environ)
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

	return list(env)
}

// list of name=value, sorted.
func list(env map[string]string) []string {
	l := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		l = append(l, name+"="+env[name])
	}

	return l
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
