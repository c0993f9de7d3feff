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

// hasInventory is true if the inputs have an inventory, or if their environment or ansible.cfg names one.
func hasInventory(in inputs.Inputs) bool {
	return len(in.Inventories) > 0 || in.ForPlay()["ANSIBLE_INVENTORY"] != "" ||
		in.AnsibleConfig().Get("defaults", "inventory") != ""
}

// defaultsFile is an inventory with default variables for all hosts. It is the first inventory, so that others override
// it.
const defaultsFile = "defaults"

// onThisMachine is a Jinja expression that is true for a host with a local connection. It uses no filter: each process
// of a task would load all filters for it.
const onThisMachine = `ansible_connection is defined and ansible_connection in ['local', 'ansible.builtin.local']`

// asyncDir sets the directory of the results of asynchronous tasks. Ansible's default is in the home directory of the
// list of users, which on this machine is not the home directory of the run.
const asyncDir = `    ansible_async_dir: "{{ lookup('ansible.builtin.env', 'HOME') if ` + onThisMachine +
	` else '~' }}/.ansible_async"` + "\n"

// pythonOf sets the interpreter of Ansible as the interpreter of modules on this machine. Ansible would look for
// another one, which the confinement may not let the run execute.
const pythonOf = `    ansible_python_interpreter: "{{ ansible_playbook_python if ` + onThisMachine +
	` else 'auto' }}"` + "\n"

// defaults returns the inventory of default variables, without those that the ProviderConfig, the ansible.cfg or the
// image of a Pod sets; nil if none is left.
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

	// The yaml plugin, which reads this inventory, may be disabled.
	plugins := cmp.Or(env["ANSIBLE_INVENTORY_ENABLED"], cfg.Get("inventory", "enable_plugins"), "yaml")
	if vars == "" || !slices.Contains(strings.Fields(strings.ReplaceAll(plugins, ",", " ")), "yaml") {
		return nil
	}

	return []byte("all:\n  vars:\n" + vars)
}

// inventories returns the files of the inventories in order, each in a directory of its own. The inventory of defaults
// is the first. A run without an inventory has it even if it is empty: otherwise Ansible would use /etc/ansible/hosts.
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

// inventoryPath returns the path of inventory i in the private data directory.
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

// enabledPlugins returns the value of ANSIBLE_INVENTORY_ENABLED: crossplane.ansible.named, which loads the plugin that
// an inventory names although the plugin expects another file name, and then the plugins of the user, or Ansible's
// default. It is empty if no inventory names a plugin.
func enabledPlugins(in inputs.Inputs) string {
	if in.Parameters.ExecutableInventory || !slices.ContainsFunc(in.Inventories, func(f inputs.File) bool {
		return f.Path == "" && inventoryName(f.Data) != hostsFile
	}) {
		return ""
	}

	// The errors of the first plugin are shown first.
	return "crossplane.ansible.named," + cmp.Or(in.ForPlay()["ANSIBLE_INVENTORY_ENABLED"],
		in.AnsibleConfig().Get("inventory", "enable_plugins"), "host_list,script,auto,yaml,ini,toml")
}

// hostsFile is the file name of an inventory that names no plugin.
const hostsFile = "hosts"

var inventoryNamePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,200}$`)

// inventoryName returns the file name of an inventory. Most inventory plugins accept only files that end in the
// name of the plugin. A plugin name with other characters than inventoryNamePattern has is not used in a file name.
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
