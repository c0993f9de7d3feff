package runner

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// Booleans in Ansible's notation.
const (
	yes = "True"
	no  = "False"
)

// defaultSSHArgs is Ansible's default of ssh_args.
const defaultSSHArgs = "-C -o ControlMaster=auto -o ControlPersist=60s"

// environment returns the environment of a run in a private data directory and a domain, as sorted name=value strings.
func (r *Runner) environment(run Spec, dir string, domain sandbox.Domain) []string {
	cfg := run.Inputs.AnsibleConfig()

	// Defaults, which the ProviderConfig may override.
	env := map[string]string{
		"ANSIBLE_NOCOLOR":                    "1",
		"ANSIBLE_DEPRECATION_WARNINGS":       no,
		"ANSIBLE_LOCALHOST_WARNING":          no,
		"ANSIBLE_INVENTORY_UNPARSED_WARNING": no,
		"ANSIBLE_SSH_CONTROL_PATH_DIR":       filepath.Join(dir, controlDir),
		// The path of a socket has 107 bytes at most, and Ansible would make it absolute. ssh runs in the working directory
		// of the play. The socket has a random name of its own: a message that shows the directory of the run does not reveal
		// the path of the socket.
		"ANSIBLE_SSH_CONTROL_PATH":  filepath.Join("..", controlDir, r.name()+"-%%C"),
		"GIT_TERMINAL_PROMPT":       "0",
		"ANSIBLE_HOST_KEY_CHECKING": hostKeyChecking(run, cfg),
	}

	// Ansible expands ~ with the list of users, also on this machine, where HOME of the run differs. The shell on the host
	// expands $HOME.
	if cfg.Get("defaults", "remote_tmp") == "" {
		env["ANSIBLE_REMOTE_TMP"] = "$HOME/.ansible/tmp"
	}

	// By default, Ansible runs a play without the hosts of an inventory that it cannot read.
	if len(run.Inputs.Inventories) > 0 && cfg.Get("inventory", "any_unparsed_is_failed") == "" {
		env["ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED"] = yes
	}

	factsEnv(env, run.Inputs)

	// In a Pod, the variables of the image and the cloud identity belong to the run. Elsewhere they belong to the
	// provider.
	inPod := run.Inputs.Execution.Place == common.PlacePod
	if inPod {
		maps.Copy(env, environ.Image(r.environ))
	}

	maps.Copy(env, environ.Passed(r.environ))

	if run.Inputs.Grant.ServiceAccount {
		maps.Copy(env, environ.Cluster(r.environ))

		if inPod {
			maps.Copy(env, environ.Identity(r.environ))
		}
	}

	maps.Copy(env, run.Inputs.ForPlay())
	clusterEnv(env, run.Inputs, dir)
	loopbackEnv(env)

	// Ansible exits if it cannot open its log.
	log := cmp.Or(env["ANSIBLE_LOG_PATH"], cfg.Get("defaults", "log_path"))
	if filepath.IsAbs(log) && !domain.Writes(log) {
		env["ANSIBLE_LOG_PATH"] = os.DevNull
	}

	if enabled := enabledPlugins(run.Inputs); enabled != "" {
		env["ANSIBLE_INVENTORY_ENABLED"] = enabled
	}

	r.contentPaths(env, run, cfg, dir)

	// ansible-runner sets the variable to its own path, and the variable takes precedence over the ansible.cfg.
	callbacks := cfgPaths(cfg, "callback_plugins", filepath.Join(dir, projectDir))
	if len(callbacks) > 0 && env["ANSIBLE_CALLBACK_PLUGINS"] == "" {
		env["ANSIBLE_CALLBACK_PLUGINS"] = strings.Join(callbacks, string(filepath.ListSeparator))
	}

	r.sshArgs(env, run, cfg, dir)

	env["HOME"] = filepath.Join(dir, homeDir)
	env["TMPDIR"] = filepath.Join(dir, tempDir)
	env["ANSIBLE_LOCAL_TEMP"] = filepath.Join(dir, tempDir)
	env["ANSIBLE_CONFIG"] = filepath.Join(dir, inputs.AnsibleConfigFile)
	// Compiled files would make a content set fail its verification.
	env["PYTHONDONTWRITEBYTECODE"] = "1"

	if cfg != nil {
		env["ANSIBLE_CONFIG"] = filepath.Join(dir, projectDir, inputs.AnsibleConfigFile)
	}

	return environ.List(env)
}

// contentPaths sets the search paths of roles and collections, in this order: the provider's own collections, the
// content set, the paths of the ProviderConfig and of the ansible.cfg, and in a Pod the paths of the image.
func (r *Runner) contentPaths(env map[string]string, run Spec, cfg inputs.AnsibleConfig, dir string) {
	for _, p := range []struct{ shipped, own, alias, name, option, older string }{
		{own: run.Content.RolesPath(), alias: "ANSIBLE_ROLE_PATH", name: "ANSIBLE_ROLES_PATH", option: "roles_path"},
		{
			shipped: r.Shipped, own: run.Content.CollectionsPath(), alias: "ANSIBLE_COLLECTION_PATH",
			name:   "ANSIBLE_COLLECTIONS_PATH",
			option: "collections_path", older: "collections_paths",
		},
	} {
		paths := []string{p.shipped, p.own, run.Inputs.Env[p.alias], run.Inputs.Env[p.name]}
		paths = append(paths, cfgPaths(cfg, p.option, filepath.Join(dir, projectDir))...)
		paths = append(paths, cfgPaths(cfg, p.older, filepath.Join(dir, projectDir))...)

		if run.Inputs.Execution.Place == common.PlacePod {
			image, name := environ.Image(r.environ), strings.TrimSuffix(p.option, "_path")
			paths = append(paths, image[p.name], "/usr/share/ansible/"+name, "/etc/ansible/"+name)
		}

		paths = slices.DeleteFunc(paths, func(s string) bool { return s == "" })

		delete(env, p.alias)

		// Ansible's default includes directories of the system.
		env[p.name] = filepath.Join(dir, homeDir, ".ansible", strings.TrimSuffix(p.option, "_path"))
		if len(paths) > 0 {
			env[p.name] = strings.Join(paths, string(filepath.ListSeparator))
		}
	}
}

// isTrue parses a boolean as Ansible does.
func isTrue(s string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1", "y", "t"}, strings.ToLower(s))
}

// cfgPaths returns the paths in an option of the section defaults of an ansible.cfg. Relative paths are relative to
// dir.
func cfgPaths(cfg inputs.AnsibleConfig, option, dir string) []string {
	paths := filepath.SplitList(cfg.Get("defaults", option))

	for i, p := range paths {
		if !filepath.IsAbs(p) && !strings.HasPrefix(p, "~") && !strings.HasPrefix(p, "{{") {
			paths[i] = filepath.Join(dir, p)
		}
	}

	return paths
}

// hostKeyChecking returns True if the credentials have a known_hosts file, or if the ansible.cfg turns checking on.
// ansible-runner would turn it off in both cases. Ansible's own default, which is on, is not used.
func hostKeyChecking(run Spec, cfg inputs.AnsibleConfig) string {
	_, known := inputs.Find(run.Inputs.Credentials, inputs.KnownHostsFile)
	if known || isTrue(cfg.Get("defaults", "host_key_checking")) ||
		isTrue(cfg.Get("ssh_connection", "host_key_checking")) {
		return yes
	}

	return no
}

// checksHostKeys is true if Ansible will have ssh check host keys. The more specific of the two variables takes
// precedence.
func checksHostKeys(env map[string]string) bool {
	v, ok := env["ANSIBLE_SSH_HOST_KEY_CHECKING"]
	if !ok {
		v = env["ANSIBLE_HOST_KEY_CHECKING"]
	}

	return isTrue(v)
}

// sshArgs appends the known_hosts file of the credentials to the arguments of ssh. ssh uses the first value of an
// option, and an inventory may replace the common arguments, so that ssh gets the file twice: as the user's known
// hosts, and as the machine's. Without that file and without checking, ssh stores no host keys: one run must not affect
// another.
func (r *Runner) sshArgs(env map[string]string, run Spec, cfg inputs.AnsibleConfig, dir string) {
	add := func(name, option, def, arg string) {
		args, ok := env[name]
		if !ok {
			args = cfg.Get("ssh_connection", option)
		}

		if !ok && args == "" {
			args = def
		}

		env[name] = strings.TrimSpace(args + " " + arg)
	}

	common := ""

	switch _, known := inputs.Find(run.Inputs.Credentials, inputs.KnownHostsFile); {
	case known:
		file := `"` + filepath.Join(dir, projectDir, inputs.KnownHostsFile) + `"`
		common = "-o UserKnownHostsFile=" + file

		add("ANSIBLE_SSH_ARGS", "ssh_args", defaultSSHArgs, "-o GlobalKnownHostsFile="+file)
	case !checksHostKeys(env):
		common = `-o UserKnownHostsFile="/dev/null"`
	}

	add("ANSIBLE_SSH_COMMON_ARGS", "ssh_common_args", "", common)
}
