package galaxy

import (
	"cmp"
	"maps"
	"path/filepath"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/shell"
)

// gpgOff is the variable that turns off the verification of signatures.
const gpgOff = "ANSIBLE_GALAXY_DISABLE_GPG_VERIFY"

// passed returns the provider's variables that installations get. It omits the time zone, which would otherwise be in
// the digest: another time zone must not cause a new installation.
func passed(own []string) map[string]string {
	env := environ.Passed(own)
	delete(env, "TZ")

	return env
}

// Given returns everything that determines the result of an installation, for its digest. It contains credentials.
func (i Installer) Given(req Request) any {
	// JSON would replace bytes that are not valid UTF-8.
	raw := func(env map[string]string) (all [][]byte) {
		for _, kv := range environ.List(env) {
			all = append(all, []byte(kv))
		}

		return all
	}

	files := map[string][]byte{}
	for _, f := range req.Credentials {
		files[f.Name] = f.Data
	}

	return struct {
		Requirements requirements.File
		Own, Env     [][]byte
		Files        map[string][]byte
		// Two configurations share content only with the same grant and verification: content from a path that one may not
		// read, or that was not verified, must not reach the other.
		Grant        sandbox.Grant
		Verification *common.Verification
	}{req.Requirements, raw(passed(i.Environ)), raw(req.Env), files, req.Grant, req.Verification}
}

// environment returns the environment of programs in a workspace: the provider's variables that are passed on, then
// those of the configuration, then those that confine the installation to the workspace and make it non-interactive.
// Later ones win.
func environment(own []string, req Request, w Workspace) []string {
	env, config, credentials := passed(own), req.Env, req.Credentials

	maps.Copy(env, config)

	for _, name := range fileVariables() {
		file := strings.TrimPrefix(config[name], "./")
		if _, ok := inputs.Find(credentials, file); ok {
			env[name] = filepath.Join(w.Home(), file)
		}
	}

	maps.Copy(env, map[string]string{
		"HOME":                            w.Home(),
		"TMPDIR":                          w.Temp(),
		"ANSIBLE_LOCAL_TEMP":              w.Temp(),
		"ANSIBLE_NOCOLOR":                 "1",
		"ANSIBLE_FORCE_COLOR":             "0",
		"ANSIBLE_GALAXY_DISPLAY_PROGRESS": "0",
		"ANSIBLE_GALAXY_CACHE_DIR":        w.Temp(),
		// An installation is complete by itself: content in other places does not satisfy its requirements.
		"ANSIBLE_COLLECTIONS_PATH":          w.Collections(),
		"ANSIBLE_COLLECTIONS_SCAN_SYS_PATH": "0",
		"ANSIBLE_ROLES_PATH":                w.Roles(),
		"GIT_TERMINAL_PROMPT":               "0",
		"GIT_ASKPASS":                       "",
		"SSH_ASKPASS_REQUIRE":               "never",
		// A configuration of git can name programs to run, and may come from a credential or from content.
		"GIT_CONFIG_GLOBAL": "/dev/null",
		// Other protocols are refused: ext runs commands, and git:// has neither authentication nor signatures.
		"GIT_ALLOW_PROTOCOL": "file:http:https:ssh",
		"GIT_SSH_COMMAND":    sshCommand(sshKeys(config, credentials), credentials, w.Home()),
	})

	// git and Python have different variables for the same setting. Python also trusts the authorities of the system,
	// beside those of the file.
	if config["GIT_SSL_CAINFO"] == "" && config["SSL_CERT_FILE"] != "" {
		env["GIT_SSL_CAINFO"] = env["SSL_CERT_FILE"]
	}

	if env["GIT_SSL_CAPATH"] == "" && env["GIT_SSL_CAINFO"] != "" {
		env["GIT_SSL_CAPATH"] = cmp.Or(env["SSL_CERT_DIR"], "/etc/ssl/certs")
	}

	// Neither a variable nor an ansible.cfg may turn verification off.
	if v := req.Verification; v != nil && v.Keyring != "" {
		env[gpgOff] = "0"
	}

	if _, ok := inputs.Find(credentials, inputs.AnsibleConfigFile); ok {
		env["ANSIBLE_CONFIG"] = filepath.Join(w.Home(), inputs.AnsibleConfigFile)
	}

	if _, ok := inputs.Find(credentials, gitCredentials); ok {
		maps.Copy(env, credentialHelper(filepath.Join(w.Home(), gitCredentials)))
	}

	return environ.List(env)
}

// fileVariables returns the variables that name files. In a configuration they may name a credential, relative to the
// working directory of ansible-galaxy; programs get its absolute path.
func fileVariables() []string {
	return []string{
		"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NETRC",
		"GIT_SSL_CAINFO", "GIT_SSL_CERT", "GIT_SSL_KEY",
		"ANSIBLE_GALAXY_TOKEN_PATH", "ANSIBLE_GALAXY_GPG_KEYRING",
	}
}

// credentialHelper returns variables that make git use a file of credentials, in place of the helpers of its
// configuration.
// https://git-scm.com/docs/git-config#ENVIRONMENT
func credentialHelper(file string) map[string]string {
	return map[string]string{
		"GIT_CONFIG_COUNT": "2",
		"GIT_CONFIG_KEY_0": "credential.helper", "GIT_CONFIG_VALUE_0": "",
		"GIT_CONFIG_KEY_1": "credential.helper", "GIT_CONFIG_VALUE_1": "store --file=" + shell.Quote(file),
	}
}
