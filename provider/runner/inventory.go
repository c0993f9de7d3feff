package runner

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/provider/document"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// hasInventory is true if there is an inventory: of the run, or one that the
// configuration names.
func hasInventory(in inputs.Inputs) bool {
	cfg, _ := inputs.Find(in.Credentials, fileConfig)

	return len(in.Inventories) > 0 || in.Env["ANSIBLE_INVENTORY"] != "" || parseConfig(cfg.Data).get("defaults", "inventory") != ""
}

// asyncDir is where a task that runs asynchronously leaves its result. Ansible
// looks for it where the list of users says that home is, which on this machine
// is not the home of a run.
const asyncDir = `ansible_async_dir: "{{ lookup('ansible.builtin.env', 'HOME') ` +
	`if ansible_connection | default('') in ['local', 'ansible.builtin.local'] else '~' }}/.ansible_async"` + "\n"

// asyncVars are beside each inventory, for all hosts. Groups, hosts and plays may
// say otherwise; only what an inventory says itself of the group all is weaker.
func asyncVars(in inputs.Inputs, inventories []File) []File {
	cfg, _ := inputs.Find(in.Credentials, fileConfig)
	if in.Env["ANSIBLE_ASYNC_DIR"] != "" || parseConfig(cfg.Data).get("defaults", "async_dir") != "" {
		return nil
	}

	files := make([]File, len(inventories))
	for i, inv := range inventories {
		files[i] = File{Path: path.Join(path.Dir(inv.Path), "group_vars", "all.yml"), Data: []byte(asyncDir), Mode: modeFile}
	}

	return files
}

// inventories returns the files of the inventories in order, each in a
// directory of its own. Without any inventory there is an empty one, so that
// none is taken from this machine.
func inventories(in inputs.Inputs) []File {
	if !hasInventory(in) {
		return []File{{Path: path.Join(inventoryDir, "none"), Mode: modeFile}}
	}

	files := make([]File, len(in.Inventories))

	for i, inv := range in.Inventories {
		mode := modeFile
		if in.Parameters.ExecutableInventory {
			mode = modeExecutable
		}

		files[i] = File{Path: inventoryPath(in, i), Data: inv.Data, Mode: mode}
	}

	return files
}

// inventoryPath is where the inventory with an index is.
func inventoryPath(in inputs.Inputs, i int) string {
	name := "hosts"
	if !in.Parameters.ExecutableInventory {
		name = inventoryName(in.Inventories[i].Data)
	}

	return path.Join(inventoryDir, strconv.Itoa(i), name)
}

var inventoryNamePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,200}$`)

// inventoryName is what an inventory must be called: an inventory plugin takes
// only files with its own name. What cannot be the name of a plugin is not to be
// that of a file.
func inventoryName(data []byte) string {
	// What is no mapping names none.
	values, _ := document.Scalars(data)
	name := values["plugin"]
	name = name[strings.LastIndexByte(name, '.')+1:]

	if !inventoryNamePattern.MatchString(name) {
		return "hosts"
	}

	return name + ".yml"
}
