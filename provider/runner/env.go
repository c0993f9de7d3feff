package runner

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
)

// Booleans as Ansible reads and writes them.
const (
	yes = "True"
	no  = "False"
)

// environment of the run, sorted.
func (r *Runner) environment(run Run, dir string) []string {
	data, configured := credential(run.Inputs, fileConfig)
	cfg := parseConfig(data)

	// Defaults, which the configuration may override.
	env := map[string]string{
		"ANSIBLE_NOCOLOR":                    "1",
		"ANSIBLE_DEPRECATION_WARNINGS":       no,
		"ANSIBLE_LOCALHOST_WARNING":          no,
		"ANSIBLE_INVENTORY_UNPARSED_WARNING": no,
		"ANSIBLE_SSH_CONTROL_PATH_DIR":       filepath.Join(dir, controlDir),
		"GIT_TERMINAL_PROMPT":                "0",
		"ANSIBLE_HOST_KEY_CHECKING":          hostKeyChecking(run, cfg),
	}

	maps.Copy(env, environ.Passed(r.environ))
	maps.Copy(env, run.Inputs.Env)
	r.contentPaths(env, run, cfg, dir)

	env["ANSIBLE_SSH_COMMON_ARGS"] = sshArgs(env, run, cfg, dir)
	env["HOME"] = filepath.Join(dir, homeDir)
	env["TMPDIR"] = filepath.Join(dir, tempDir)
	env["ANSIBLE_LOCAL_TEMP"] = filepath.Join(dir, tempDir)
	env["ANSIBLE_CONFIG"] = filepath.Join(dir, fileConfig)
	env["ANSIBLE_HASH_BEHAVIOUR"] = "replace"

	if configured {
		env["ANSIBLE_CONFIG"] = filepath.Join(dir, projectDir, fileConfig)
	}

	return environ.List(env)
}

// contentPaths sets where roles and collections are found: in the content set,
// then where the configuration says.
func (r *Runner) contentPaths(env map[string]string, run Run, cfg ansibleConfig, dir string) {
	for _, p := range []struct{ own, alias, name, option, older string }{
		{own: run.Content.RolesPath(), alias: "ANSIBLE_ROLE_PATH", name: "ANSIBLE_ROLES_PATH", option: "roles_path"},
		{
			own: run.Content.CollectionsPath(), alias: "ANSIBLE_COLLECTION_PATH", name: "ANSIBLE_COLLECTIONS_PATH",
			option: "collections_path", older: "collections_paths",
		},
	} {
		paths := []string{p.own, env[p.alias], env[p.name]}
		paths = append(paths, cfg.paths(p.option, filepath.Join(dir, projectDir))...)
		paths = append(paths, cfg.paths(p.older, filepath.Join(dir, projectDir))...)
		paths = slices.DeleteFunc(paths, func(s string) bool { return s == "" })

		delete(env, p.alias)

		// Ansible's defaults would look into the system's directories.
		env[p.name] = filepath.Join(dir, homeDir, ".ansible", strings.TrimSuffix(p.option, "_path"))
		if len(paths) > 0 {
			env[p.name] = strings.Join(paths, string(filepath.ListSeparator))
		}
	}
}

// hostKeyChecking is on when there is something to check against, or when it
// is asked for. ansible-runner would turn it off even then.
func hostKeyChecking(run Run, cfg ansibleConfig) string {
	if _, known := credential(run.Inputs, fileKnownHosts); known || cfg.checksHostKeys() {
		return yes
	}

	return no
}

// sshArgs appends the file of known hosts to the arguments that the
// configuration gives to ssh. Of an ssh option the first value counts. Without
// known hosts and without checking, ssh must not learn keys from one run for
// another.
func sshArgs(env map[string]string, run Run, cfg ansibleConfig, dir string) string {
	args, ok := env["ANSIBLE_SSH_COMMON_ARGS"]
	if !ok {
		args = cfg.get("ssh_connection", "ssh_common_args")
	}

	file := ""

	if _, known := credential(run.Inputs, fileKnownHosts); known {
		file = filepath.Join(dir, projectDir, fileKnownHosts)
	} else if env["ANSIBLE_HOST_KEY_CHECKING"] == no {
		file = "/dev/null"
	}

	if file == "" {
		return args
	}

	return strings.TrimSpace(args + ` -o UserKnownHostsFile="` + file + `"`)
}
