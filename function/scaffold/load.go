package scaffold

import (
	"cmp"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane/function-sdk-go/errors"
)

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
		role.Description = string(cmp.Or(s.ShortDescription, s.Description))
		role.Options, err = optionsOf(s.Options)
	case len(specs) > 0:
		return role, errors.Errorf("the role %s has no entry point %q, only %s", name, entryPoint,
			strings.Join(slices.Sorted(maps.Keys(specs)), ", "))
	case entryPoint != EntryPointMain:
		return role, errors.Errorf("the role %s has no argument specifications, so nothing is known of its entry point %q",
			name, entryPoint)
	default:
		role.Options, err = defaultsIn(dir)
	}

	return role, errors.Wrapf(err, "cannot understand the role %s", name)
}

// nameOf the role in a directory: its full name as far as there is one.
func nameOf(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", errors.Wrap(err, "cannot find the role")
	}

	base := filepath.Base(dir)

	if m := regexp.MustCompile(`/ansible_collections/(\w+)/(\w+)/roles/\w+$`).FindStringSubmatch(
		filepath.ToSlash(dir)); m != nil {
		return m[1] + "." + m[2] + "." + base, nil
	}

	collection := struct {
		Namespace string `yaml:"namespace"`
		Name      string `yaml:"name"`
	}{}
	if err := decode(filepath.Join(dir, "..", "..", "galaxy.yml"), &collection); err == nil &&
		collection.Namespace != "" && collection.Name != "" {
		return collection.Namespace + "." + collection.Name + "." + base, nil
	}

	meta := struct {
		Info struct {
			Namespace string `yaml:"namespace"`
			RoleName  string `yaml:"role_name"`
		} `yaml:"galaxy_info"`
	}{}
	if err := decode(filepath.Join(dir, "meta", "main.yml"), &meta); err == nil && meta.Info.Namespace != "" {
		return meta.Info.Namespace + "." + cmp.Or(meta.Info.RoleName, base), nil
	}

	return base, nil
}
