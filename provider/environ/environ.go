// Package environ decides on the environment, environ(7), of the programs that the provider starts: which variables of
// its own they get, and which a configuration may set.
package environ

import (
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// network has the variables for access to the network, and the time zone.
func network() []string {
	return []string{
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy", "TZ",
	}
}

// authorities has the variables that name files and directories of trusted authorities.
func authorities() []string {
	return []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"}
}

// Passed returns the variables, given as name=value, that programs get from the provider's own environment: PATH,
// access to the network, trusted authorities, and the time zone. Others may hold secrets. LANG is set, since Ansible
// requires UTF-8.
func Passed(environ []string) map[string]string {
	env := pick(environ, named(slices.Concat(network(), authorities(), []string{"PATH"})...))
	env["LANG"] = "C.UTF-8"

	return env
}

// Image returns the variables that a run in a Pod gets from the image and the template of the Pod: all except those
// that the provider sets itself, and those with the address of the API server and the identity of the Pod. Languages
// are excluded, since the provider parses Ansible's messages.
func Image(environ []string) map[string]string {
	own := named(append(controlled(), "LANG", "LANGUAGE", "KUBECONFIG")...)

	return pick(environ, func(name string) bool {
		return !own(name) && !starts(name, "LC_", "AWX_", "RUNNER_", "KUBERNETES_", "AWS_", "AZURE_", "GOOGLE_")
	})
}

// controlled has the variables that the provider sets in each run, and those with which ansible-runner talks to its
// plugin.
func controlled() []string {
	return []string{
		"HOME", "TMPDIR", "ANSIBLE_CONFIG", "ANSIBLE_LOCAL_TEMP", "ANSIBLE_HOME",
		"AD_HOC_COMMAND_ID", "MAX_EVENT_RES", "JOB_ID", "PROJECT_UPDATE_ID",
	}
}

// Cluster returns the variables with the address of the API server of the provider's own cluster, for content that may
// use the ServiceAccount.
func Cluster(environ []string) map[string]string {
	return pick(environ, named("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_SERVICE_PORT_HTTPS"))
}

// Identity returns the variables with which the workload identities of clouds tell programs the path of the Pod's token
// and the role that it grants.
func Identity(environ []string) map[string]string {
	return pick(environ, func(name string) bool { return starts(name, "AWS_", "AZURE_", "GOOGLE_") })
}

// Home returns the home directory of the provider's user, for its own programs.
func Home(environ []string) map[string]string { return pick(environ, named("HOME")) }

// Proxies returns the variables for access to the network, for the provider's Pods.
func Proxies(environ []string) map[string]string { return pick(environ, named(network()...)) }

// LookPath returns the absolute path of a program in the PATH of an environment, which may have relative directories.
func LookPath(environ []string, name string) (string, error) {
	for _, dir := range filepath.SplitList(Passed(environ)["PATH"]) {
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return filepath.Abs(p) // It fails only without a working directory.
		}
	}

	return "", errors.Errorf("cannot find %q in PATH", name)
}

// pick returns the variables of an environment with wanted names.
func pick(environ []string, wanted func(name string) bool) map[string]string {
	env := map[string]string{}

	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && wanted(name) {
			env[name] = value
		}
	}

	return env
}

func named(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

func starts(name string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// Authorities returns the files and directories of trusted authorities that an environment names.
func Authorities(env map[string]string) []string {
	var paths []string

	for _, name := range authorities() {
		for _, p := range filepath.SplitList(env[name]) {
			if filepath.IsAbs(p) {
				paths = append(paths, filepath.Clean(p))
			}
		}
	}

	return paths
}

// Validate returns an error for a variable that a configuration must not set: PATH, HOME, TMPDIR; variables that change
// an interpreter (LD_*, PYTHON*, BASH_ENV, GODEBUG and the like) or the configuration of git (XDG_CONFIG_HOME); those
// with which ansible-runner talks to its plugin (AWX_*, RUNNER_*, JOB_ID and the like); those that separate runs
// (ANSIBLE_CONFIG, ANSIBLE_HOME, ANSIBLE_LOCAL_TEMP); and those that make git run programs, with an error that says
// what to use instead.
func Validate(name, value string) error {
	own := append(controlled(),
		"PATH", "BASH_ENV", "ENV", "IFS", "SHELLOPTS", "BASHOPTS", "PS4",
		"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK", "GCONV_PATH", "GLIBC_TUNABLES", "XDG_CONFIG_HOME",
	)

	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return errors.New("must be the name of an environment variable")
	case strings.Contains(value, "\x00"):
		return errors.New("must not contain NUL")
	case slices.Contains(own, name),
		starts(name, "LD_", "PYTHON", "AWX_", "RUNNER_", "BASH_FUNC_", "OPENSSL_", "PERL5"):
		return errors.New("is set by the provider")
	}

	return validateGit(name)
}

// variableName matches names that every shell can read.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ansiblePaths matches the variables with which Ansible finds content and plugins.
var ansiblePaths = regexp.MustCompile(
	`^ANSIBLE_(LIBRARY|MODULE_UTILS|STDOUT_CALLBACK|.*_PATHS?|.*_PLUGINS?|.*_PATH_DIR)$`)

// ValidatePlay returns an error for a variable that neither a run nor its configuration may set for a play: those that
// Validate refuses, those with paths of content, those of ansible-galaxy, those that decide which hosts are trusted,
// and those with the address of the API server.
func ValidatePlay(name, value string) error {
	trust := []string{
		"ANSIBLE_HOST_KEY_CHECKING", "ANSIBLE_SSH_HOST_KEY_CHECKING", "ANSIBLE_SSH_ARGS", "ANSIBLE_SSH_COMMON_ARGS",
		"ANSIBLE_SSH_EXTRA_ARGS",
	}

	if err := Validate(name, value); err != nil {
		return err
	}

	switch {
	case !variableName.MatchString(name):
		return errors.New("must be of letters, digits and _, and must not begin with a digit")
	case strings.HasPrefix(name, "KUBERNETES_SERVICE_"):
		return errors.New("is set by the provider")
	case ansiblePaths.MatchString(name):
		return errors.New("says where Ansible finds content or plugins: set it in spec.vars of the configuration")
	case strings.HasPrefix(name, "ANSIBLE_GALAXY_"):
		return errors.New("is for ansible-galaxy: set it in spec.vars of the configuration")
	case slices.Contains(trust, name):
		return errors.New("says which hosts are trusted: set it in spec.vars of the configuration")
	}

	return nil
}

// validateGit refuses variables that make git or ssh run a program or read another configuration. Git gets more
// variables in every version: only those known to be harmless are allowed.
// https://git-scm.com/docs/git#_environment_variables
func validateGit(name string) error {
	switch name {
	case "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT":
		return errors.New(
			"runs a program in the provider: git uses the credentials id_ed25519, id_ecdsa, id_rsa and known_hosts")
	case "GIT_ASKPASS", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE":
		return errors.New("runs a program in the provider: git uses the credential .git-credentials")
	case "GIT_PROXY_COMMAND":
		return errors.New("runs a program in the provider: git uses HTTPS_PROXY")
	case "SSH_SK_PROVIDER", "SSH_SK_HELPER", "SSH_PKCS11_HELPER":
		return errors.New("runs a program in the provider")
	}

	if starts(name, "GIT_") &&
		!starts(name, "GIT_SSL_", "GIT_HTTP_", "GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_LFS_", "GIT_TERMINAL_PROMPT") {
		return errors.New("can make git run a program in the provider: of git's variables only GIT_SSL_*, GIT_HTTP_*, " +
			"GIT_AUTHOR_*, GIT_COMMITTER_* and GIT_LFS_* may be set")
	}

	return nil
}

// List returns an environment as name=value, sorted by name.
func List(env map[string]string) []string {
	l := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		l = append(l, name+"="+env[name])
	}

	return l
}
