package scaffold

import (
	"cmp"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// entryPointMain is the default entry point of a role.
const entryPointMain = "main"

// A Role is an Ansible role.
type Role struct {
	// Name is its full name: namespace.collection.role or namespace.role.
	Name string
	// EntryPoint is the name of the file with its tasks, without an extension.
	EntryPoint string
	// Description is empty when there is none.
	Description string
	// Options are its variables, in the order of the file.
	Options []Option
	// Documented is true for options from argument specifications, and false for options guessed from defaults.
	Documented bool
	// Aware is true if a file of the role uses the variable with the state, by which it knows about a deletion.
	Aware bool
}

// Install installs the requirements in a file with ansible-galaxy below a directory. It returns the directory of a role
// in them.
func Install(ctx context.Context, role, requirements, dir string) (string, error) {
	galaxy, err := exec.LookPath("ansible-galaxy")
	if err != nil {
		return "", errors.New(
			"cannot find ansible-galaxy on the PATH; install ansible-core, or give the directory of the role")
	}

	parts := strings.Split(role, ".")

	kind, found := fieldRole, filepath.Join(dir, role)
	if len(parts) > 2 {
		kind, found = "collection", filepath.Join(dir, "ansible_collections", parts[0], parts[1], "roles",
			filepath.Join(parts[2:]...))
	}

	cmd := exec.CommandContext(ctx, galaxy, kind, "install", "-r", requirements, "-p", dir)
	// Without these paths, ansible-galaxy would skip collections and roles that are installed elsewhere.
	cmd.Env = append(os.Environ(), "ANSIBLE_COLLECTIONS_PATH="+dir, "ANSIBLE_ROLES_PATH="+dir)

	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Wrapf(err, "cannot install the requirements: %s", strings.TrimSpace(string(out)))
	}

	if _, err := os.Stat(found); err != nil {
		return "", errors.Errorf("the requirements do not bring the role %s", role)
	}

	return found, nil
}

// Load reads the role in a directory. If the name is empty, it follows from the directory.
func Load(dir, name, entryPoint string) (Role, error) {
	f, err := filesIn(dir, `^(defaults|handlers|meta|tasks|templates|vars)/`)
	if err != nil {
		return Role{}, err
	}

	if !slices.ContainsFunc([]string{"tasks", "meta", "defaults"}, f.has) {
		return Role{}, errors.Errorf(
			"%s is no role, since it has no tasks: give the directory of a role, such as roles/web", dir)
	}

	if dir, err = filepath.Abs(dir); err != nil {
		return Role{}, errors.Wrap(err, "cannot find the role")
	}

	role := Role{
		Name: cmp.Or(name, nameOf(dir, f)), EntryPoint: entryPoint, Aware: f.mentions(common.ProviderVariable) != "",
	}

	specs, err := specsIn(f)
	if err != nil {
		return role, err
	}

	s, ok := specs[entryPoint]

	switch {
	case ok:
		role.Documented = true
		role.Description = cmp.Or(described(s.ShortDescription), described(s.Description))
		role.Options = s.Options
	case len(specs) > 0:
		return role, errors.Errorf("the role %s has no entry point %q, only %s", role.Name, entryPoint,
			strings.Join(slices.Sorted(maps.Keys(specs)), ", "))
	case entryPoint != entryPointMain:
		return role, errors.Errorf("the role %s has no argument specifications, so nothing is known of its entry point %q",
			role.Name, entryPoint)
	default:
		role.Options, err = defaultsIn(f, "")
	}

	if roles := filepath.Dir(dir); filepath.Base(roles) == "roles" {
		project, _ := filesIn(filepath.Dir(roles), `(^|/)(group|host)_vars/`) // Files that cannot be read are ignored.
		role.yield(project)
	}

	return role, errors.Wrapf(err, "cannot understand the role %s", role.Name)
}

// yield removes the defaults of options that group_vars or host_vars of the project set: in an XRD, they would win over
// the values of the project.
func (r *Role) yield(project files) {
	for _, file := range manifest.SortedKeys(project) {
		vars := map[string]any{}
		_ = project.decode(file, &vars) // Encrypted files are ignored.

		for i := range r.Options {
			o := &r.Options[i]

			if _, ok := vars[o.Name]; ok && o.Default != nil {
				o.Default = nil
				o.Notes = append(o.Notes, "its default is left out, since "+file+" of the project sets it")
			}
		}
	}
}

// nameOf returns the full name of the role in a directory, or the name of the directory if it has none.
func nameOf(dir string, f files) string {
	base := filepath.Base(dir)

	if m := regexp.MustCompile(`/ansible_collections/(\w+)/(\w+)/roles/\w+$`).FindStringSubmatch(
		filepath.ToSlash(dir)); m != nil {
		return m[1] + "." + m[2] + "." + base
	}

	if collection, err := collectionIn(filepath.Join(dir, "..", "..")); err == nil && collection != "" {
		return collection + "." + base
	}

	var meta struct {
		Info struct {
			Namespace string
			RoleName  string `yaml:"role_name"`
		} `yaml:"galaxy_info"`
	}

	if err := f.decode("meta/main.yml", &meta); err == nil && meta.Info.Namespace != "" {
		return meta.Info.Namespace + "." + cmp.Or(meta.Info.RoleName, base)
	}

	return base
}
