// Package inputs holds everything that a run depends on and that a user
// controls, resolved to plain values.
package inputs

import (
	"slices"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// A File that a reference resolved to.
type File struct {
	// Name in the working directory for a credential; what the file was
	// resolved from, for error messages, otherwise.
	Name string
	// Data of the file.
	Data []byte
	// Secret is true for data that must never be reported.
	Secret bool
	// Rotates is what a credential was resolved from whose data is no input; empty
	// for all other files.
	Rotates string
}

// Find a file by its name; false when there is none.
func Find(files []File, name string) (File, bool) {
	i := slices.IndexFunc(files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return File{}, false
	}

	return files[i], true
}

// Inputs of a run: parameters, what the references resolve to, and the
// configuration with its credentials.
type Inputs struct {
	// Parameters as written, defaults filled in.
	Parameters common.AnsibleRunParameters
	// Roles that the parameters name, role and roles alike.
	Roles []common.Role
	// VarFiles in order, weakest first. Missing optional files are left out.
	VarFiles []File
	// Inventories in order, inventoryInline first.
	Inventories []File
	// Config is the kind and name of the configuration, for error messages. It
	// is no input: the same configuration under another name changes nothing.
	Config string
	// Credentials for the working directory.
	Credentials []File
	// Requirements is the text of the configuration's requirements.yml.
	Requirements string
	// Env is the environment that the configuration sets.
	Env map[string]string
	// Verification of what is installed; nil for none. It is no input of a run: it
	// decides whether content is installed, not which.
	Verification *common.Verification
	// Grant is what the configuration allows beyond what every run may do.
	Grant sandbox.Grant
}
