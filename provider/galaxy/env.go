package galaxy

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/shell"
)

// environment of ansible-galaxy in a workspace: the provider's variables that are passed on,
// then those of the configuration, then those that keep the installation in the workspace and
// from asking questions. Later ones win. The provider's time zone is left out, since another
// time zone must not install anything again.
func environment(own []string, config map[string]string, credentials []inputs.File, w Workspace) []string {
	env := environ.Passed(own)
	delete(env, "TZ")

	maps.Copy(env, config)
	maps.Copy(env, credentialPaths(config, credentials, w.Home()))
	maps.Copy(env, map[string]string{
		"HOME":                            w.Home(),
		"TMPDIR":                          w.Temp(),
		"ANSIBLE_LOCAL_TEMP":              w.Temp(),
		"ANSIBLE_NOCOLOR":                 "1",
		"ANSIBLE_FORCE_COLOR":             "0",
		"ANSIBLE_GALAXY_DISPLAY_PROGRESS": "0",
		"ANSIBLE_GALAXY_CACHE_DIR":        w.Temp(),
		// A set is complete by itself: what is installed elsewhere does not count.
		"ANSIBLE_COLLECTIONS_PATH":          w.Collections(),
		"ANSIBLE_COLLECTIONS_SCAN_SYS_PATH": "0",
		"ANSIBLE_ROLES_PATH":                w.Roles(),
		"GIT_TERMINAL_PROMPT":               "0",
		"GIT_ASKPASS":                       "",
		"SSH_ASKPASS_REQUIRE":               "never",
		// A configuration of git names programs to run. It may be in a credential, or in
		// other content.
		"GIT_CONFIG_GLOBAL": "/dev/null",
		// Other protocols, such as ext, run commands, and that of git:// knows neither secrets nor signatures.
		"GIT_ALLOW_PROTOCOL": "file:http:https:ssh",
		"GIT_SSH_COMMAND":    sshCommand(sshKeys(config, credentials), credentials, w.Home()),
	})

	// git and Python name the same thing differently, and Python trusts the
	// authorities of the system beside those of a file.
	if config["GIT_SSL_CAINFO"] == "" && config["SSL_CERT_FILE"] != "" {
		env["GIT_SSL_CAINFO"] = env["SSL_CERT_FILE"]
	}

	if env["GIT_SSL_CAPATH"] == "" && env["GIT_SSL_CAINFO"] != "" {
		env["GIT_SSL_CAPATH"] = cmp.Or(env["SSL_CERT_DIR"], "/etc/ssl/certs")
	}

	for _, f := range credentials {
		switch f.Name {
		case inputs.AnsibleConfigFile:
			env["ANSIBLE_CONFIG"] = filepath.Join(w.Home(), inputs.AnsibleConfigFile)
		case gitCredentials:
			maps.Copy(env, credentialHelper(filepath.Join(w.Home(), gitCredentials)))
		}
	}

	return environ.List(env)
}

// fileVariables returns the variables with values that name files. In a configuration they may
// name a credential, relative to the working directory of ansible-galaxy.
func fileVariables() []string {
	return []string{
		"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NETRC",
		"GIT_SSL_CAINFO", "GIT_SSL_CERT", "GIT_SSL_KEY",
		"ANSIBLE_GALAXY_TOKEN_PATH", "ANSIBLE_GALAXY_GPG_KEYRING",
	}
}

// credentialPaths returns the variables of the configuration that name credentials, with the
// absolute paths of these in a directory.
func credentialPaths(config map[string]string, credentials []inputs.File, dir string) map[string]string {
	env := map[string]string{}

	for _, name := range fileVariables() {
		file := strings.TrimPrefix(config[name], "./")
		if slices.ContainsFunc(credentials, func(f inputs.File) bool { return f.Name == file }) {
			env[name] = filepath.Join(dir, file)
		}
	}

	return env
}

// credentialHelper returns variables with which git uses a file of credentials, in place of
// all helpers of its own configuration.
// https://git-scm.com/docs/git-config#ENVIRONMENT
func credentialHelper(file string) map[string]string {
	env := map[string]string{}
	values := []string{"", "store --file=" + shell.Quote(file)}

	for i, v := range values {
		env["GIT_CONFIG_KEY_"+strconv.Itoa(i)] = "credential.helper"
		env["GIT_CONFIG_VALUE_"+strconv.Itoa(i)] = v
	}

	env["GIT_CONFIG_COUNT"] = strconv.Itoa(len(values))

	return env
}
