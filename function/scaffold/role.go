package scaffold

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

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

// Load the role in a directory. An empty name is found out from the directory.
func Load(dir, name, entryPoint string) (Role, error) {
	if name == "" {
		var err error
		if name, err = nameOf(dir); err != nil {
			return Role{}, err
		}
	}

	role := Role{Name: name, EntryPoint: entryPoint}

	specs, err := specsIn(dir)
	if err != nil {
		return role, err
	}

	s, ok := specs[entryPoint]

	switch {
	case ok:
		role.Documented = true
		role.Description = cmpOr(string(s.ShortDescription), string(s.Description))
		role.Options, err = optionsOf(s.Options)
	case len(specs) > 0:
		return role, errors.Errorf("the role %s has no entry point %q, but %s", name, entryPoint, strings.Join(sortedKeys(specs), ", "))
	case entryPoint != EntryPointMain:
		return role, errors.Errorf("the role %s has no argument specifications, so nothing is known of its entry point %q", name, entryPoint)
	default:
		role.Options, err = defaultsIn(dir)
	}

	return role, errors.Wrapf(err, "cannot understand the role %s", name)
}

// nameOf the role in a directory.
func nameOf(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", errors.Wrap(err, "cannot find the role")
	}

	base := filepath.Base(dir)

	if m := regexp.MustCompile(`/ansible_collections/(\w+)/(\w+)/roles/\w+$`).FindStringSubmatch(filepath.ToSlash(dir)); m != nil {
		return m[1] + "." + m[2] + "." + base, nil
	}

	collection := struct {
		Namespace string `yaml:"namespace"`
		Name      string `yaml:"name"`
	}{}
	if err := decode(filepath.Join(dir, "..", "..", "galaxy.yml"), &collection); err == nil && collection.Namespace != "" && collection.Name != "" {
		return collection.Namespace + "." + collection.Name + "." + base, nil
	}

	meta := struct {
		Info struct {
			Namespace string `yaml:"namespace"`
			RoleName  string `yaml:"role_name"`
		} `yaml:"galaxy_info"`
	}{}
	if err := decode(filepath.Join(dir, "meta", "main.yml"), &meta); err == nil && meta.Info.Namespace != "" {
		return meta.Info.Namespace + "." + cmpOr(meta.Info.RoleName, base), nil
	}

	if strings.Count(base, ".") == 1 {
		return base, nil
	}

	return "", errors.Errorf("cannot tell the full name of the role %s; say it with --role", base)
}

// decode a YAML file. The error wraps os.ErrNotExist where there is none.
func decode(path string, into any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return errors.Wrap(err, "cannot read the role")
	}

	return errors.Wrapf(yaml.Unmarshal(b, into), "cannot read %s of the role", filepath.Base(path))
}
