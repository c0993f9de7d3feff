package runner

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// hasInventory is true if there is an inventory: of the run, or one that the
// configuration names.
func hasInventory(in inputs.Inputs) bool {
	data, _ := credential(in, fileConfig)

	return len(in.Inventories) > 0 || in.Env["ANSIBLE_INVENTORY"] != "" || parseConfig(data).get("defaults", "inventory") != ""
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

// inventoryName is what an inventory must be called: an inventory plugin takes
// only files with its own name. What cannot be the name of a plugin is not to be
// that of a file.
func inventoryName(data []byte) string {
	var config struct {
		Plugin string `yaml:"plugin"`
	}

	if yaml.Unmarshal(data, &config) != nil {
		return "hosts"
	}

	name := config.Plugin[strings.LastIndexByte(config.Plugin, '.')+1:]
	if !regexp.MustCompile(`^[A-Za-z0-9_-]{1,200}$`).MatchString(name) {
		return "hosts"
	}

	return name + ".yml"
}
