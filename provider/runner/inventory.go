package runner

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// hasInventory is true if the run has an inventory, or its configuration names one.
func hasInventory(in inputs.Inputs) bool {
	return len(in.Inventories) > 0 || in.ForPlay()["ANSIBLE_INVENTORY"] != "" ||
		in.AnsibleConfig().Get("defaults", "inventory") != ""
}

// defaultsFile is an inventory of variables for all hosts. It is the first one: whatever others set wins.
const defaultsFile = "defaults"

// onThisMachine is true, in a template, for a host with a local connection. It has no filter: each process of a task
// would load all filters for it.
const onThisMachine = `ansible_connection is defined and ansible_connection in ['local', 'ansible.builtin.local']`

// asyncDir is where an asynchronous task leaves its result. Ansible's default is below the
// home that the list of users has, which on this machine is not the home of a run.
const asyncDir = `    ansible_async_dir: "{{ lookup('ansible.builtin.env', 'HOME') if ` + onThisMachine +
	` else '~' }}/.ansible_async"` + "\n"

// pythonOf has the Python of Ansible itself on this machine: Ansible would look for another one, which the run may not
// execute.
const pythonOf = `    ansible_python_interpreter: "{{ ansible_playbook_python if ` + onThisMachine +
	` else 'auto' }}"` + "\n"

// defaults of all hosts, where neither the configuration nor the image of a Pod has others.
func (r *Runner) defaults(in inputs.Inputs) []byte {
	env, cfg := in.ForPlay(), in.AnsibleConfig()
	if in.Execution.Place == common.PlacePod {
		env = environ.Image(r.environ)
		maps.Copy(env, in.ForPlay())
	}

	var vars string

	if env["ANSIBLE_ASYNC_DIR"] == "" && cfg.Get("defaults", "async_dir") == "" {
		vars += asyncDir
	}

	python := cmp.Or(env["ANSIBLE_PYTHON_INTERPRETER"], cfg.Get("defaults", "interpreter_python"), "auto")
	if strings.HasPrefix(python, "auto") {
		vars += pythonOf
	}

	// A list of plugins may leave out the one that reads them.
	plugins := cmp.Or(env["ANSIBLE_INVENTORY_ENABLED"], cfg.Get("inventory", "enable_plugins"), "yaml")
	if vars == "" || !slices.Contains(strings.Fields(strings.ReplaceAll(plugins, ",", " ")), "yaml") {
		return nil
	}

	return []byte("all:\n  vars:\n" + vars)
}

// inventories returns the files of the inventories in order, each in a directory of its own. The first one has
// defaults. It is there without any other, too: otherwise Ansible would use the inventory of this machine.
func (r *Runner) inventories(in inputs.Inputs) []file {
	var files []file

	defaults := r.defaults(in)
	if !hasInventory(in) || len(in.Inventories) > 0 && defaults != nil {
		files = append(files, file{Path: path.Join(inventoryDir, defaultsFile), Data: defaults})
	}

	for i, inv := range in.Inventories {
		files = append(files, file{
			Path: inventoryPath(in, i), Data: inv.Data, Executable: in.Parameters.ExecutableInventory,
			Given: inv.Path != "",
		})
	}

	return files
}

// inventoryPath of the inventory with an index, in the private data directory.
func inventoryPath(in inputs.Inputs, i int) string {
	if p := in.Inventories[i].Path; p != "" {
		return path.Join(projectDir, p)
	}

	name := hostsFile
	if !in.Parameters.ExecutableInventory {
		name = inventoryName(in.Inventories[i].Data)
	}

	return path.Join(inventoryDir, strconv.Itoa(i), name)
}

// enabledPlugins for inventories: one for what no other takes, since the file does not have the name that the plugin
// wants, and the user's, or Ansible's default. It is empty if no inventory names a plugin.
func enabledPlugins(in inputs.Inputs) string {
	if in.Parameters.ExecutableInventory || !slices.ContainsFunc(in.Inventories, func(f inputs.File) bool {
		return f.Path == "" && inventoryName(f.Data) != hostsFile
	}) {
		return ""
	}

	// What it has to say of a failure comes first.
	return "crossplane.ansible.named," + cmp.Or(in.ForPlay()["ANSIBLE_INVENTORY_ENABLED"],
		in.AnsibleConfig().Get("inventory", "enable_plugins"), "host_list,script,auto,yaml,ini,toml")
}

// hostsFile is the name of the file of an inventory that names no plugin.
const hostsFile = "hosts"

var inventoryNamePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,200}$`)

// inventoryName is what the file of an inventory is called: most inventory plugins take
// only files that end in their own name. Text that cannot be the name of a plugin is not
// trusted to be that of a file.
func inventoryName(data []byte) string {
	// An inventory that is no mapping names no plugin.
	values, _ := yamltext.Scalars(data)
	name := values["plugin"]
	name = name[strings.LastIndexByte(name, '.')+1:]

	if !inventoryNamePattern.MatchString(name) {
		return hostsFile
	}

	return name + ".yml"
}
