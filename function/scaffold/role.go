package scaffold

import (
	"os"
	"path/filepath"

	yaml "go.yaml.in/yaml/v3"

	"github.com/crossplane/function-sdk-go/errors"
)

// EntryPointMain is the entry point of a role that is there without asking.
const EntryPointMain = "main"

// A Role is what a role says of itself.
type Role struct {
	// Name as Ansible calls it: namespace.collection.role or namespace.role.
	Name string
	// EntryPoint is the file of tasks, without its extension.
	EntryPoint string
	// Description of the role; empty when there is none.
	Description string
	// Options are its variables, in the order in which they were written.
	Options []Option
	// Documented is false when the options are a guess from the defaults of the
	// role.
	Documented bool
}

// An Option is a variable of a role, or a key in one.
type Option struct {
	// Name as the role calls it.
	Name string
	// Type as argument specifications have it: str, list, dict, bool, int,
	// float, path, raw, jsonarg, json, bytes, or bits.
	Type string
	// Elements is the type of a list's elements; empty when it is not told.
	Elements string
	// Required options must be there.
	Required bool
	// Secret options must not be shown.
	Secret bool
	// Choices are the values that there are; of a list, those of its elements.
	Choices []any
	// Default as the role has it; nil when there is none that does not depend
	// on other variables.
	Default any
	// Description of the option.
	Description string
	// Options in a dict, or in each dict of a list.
	Options []Option
	// Notes are what else the role says of the option, which XRDs cannot.
	Notes []string
}

// decode a YAML file. The error wraps os.ErrNotExist where there is none.
func decode(path string, into any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return errors.Wrap(err, "cannot read the role")
	}

	return errors.Wrapf(yaml.Unmarshal(b, into), "cannot read %s of the role", filepath.Base(path))
}
