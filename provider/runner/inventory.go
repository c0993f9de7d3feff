package runner

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// hasInventory is true if the run has an inventory, or its configuration names one.
func hasInventory(in inputs.Inputs) bool {
	return len(in.Inventories) > 0 || in.Env["ANSIBLE_INVENTORY"] != "" ||
		in.AnsibleConfig().Get("defaults", "inventory") != ""
}

// asyncDir is where an asynchronous task leaves its result. Ansible's default is below the
// home that the list of users has, which on this machine is not the home of a run.
const asyncDir = `ansible_async_dir: "{{ lookup('ansible.builtin.env', 'HOME') ` +
	`if ansible_connection | default('') in ['local', 'ansible.builtin.local'] else '~' }}/.ansible_async"` + "\n"

// asyncVars returns a group_vars/all.yml beside each inventory. Variables of other groups,
// hosts and plays win; only those that an inventory sets itself for the group all lose.
func asyncVars(in inputs.Inputs, inventories []file) []file {
	if in.Env["ANSIBLE_ASYNC_DIR"] != "" || in.AnsibleConfig().Get("defaults", "async_dir") != "" {
		return nil
	}

	var files []file

	for _, inv := range inventories {
		if !inv.Given {
			files = append(files, file{Path: path.Join(path.Dir(inv.Path), "group_vars", "all.yml"), Data: []byte(asyncDir)})
		}
	}

	return files
}

// inventories returns the files of the inventories in order, each in a directory of its own.
// Without any inventory it returns an empty one: otherwise Ansible would use the inventory of
// this machine.
func inventories(in inputs.Inputs) []file {
	if !hasInventory(in) {
		return []file{{Path: path.Join(inventoryDir, "none")}}
	}

	files := make([]file, len(in.Inventories), len(in.Inventories)+1)

	for i, inv := range in.Inventories {
		files[i] = file{
			Path: inventoryPath(in, i), Data: inv.Data, Executable: in.Parameters.ExecutableInventory,
			Given: inv.Path != "",
		}
	}

	// Variables for the project's inventories, see asyncVars, cannot be beside these.
	if len(files) > 0 && !slices.ContainsFunc(files, func(f file) bool { return !f.Given }) {
		files = slices.Insert(files, 0, file{Path: path.Join(inventoryDir, "none")})
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
	return "crossplane.ansible.named," + cmp.Or(in.Env["ANSIBLE_INVENTORY_ENABLED"],
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
