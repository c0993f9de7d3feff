package runner

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// projectPlaybookFile imports what a run with a project plays, other than one playbook of it. A project may have a
// playbook.yml.
const projectPlaybookFile = ".provider-ansible.yml"

const (
	// maxConfig is the size of the largest ansible.cfg of a project, in bytes.
	maxConfig = 1 << 20
	// maxPlaybooks is how many playbooks of a project a message lists.
	maxPlaybooks = 10
)

// playbookOf is the name of the file of a run's playbook, in the working directory. One playbook of a project is played
// by its own name, which Ansible shows; any other is made.
func playbookOf(run Spec) (name string, made bool) {
	switch {
	case run.Content.Project == nil:
		return playbookFile, true
	case inputs.IsProjectPlaybook(run.Inputs.Parameters.Playbook):
		return run.Inputs.Parameters.Playbook, false
	}

	return projectPlaybookFile, true
}

// withProject returns a run that has what its project says: its ansible.cfg, unless the credentials have one.
// The error says what of the run is not in the project.
func withProject(run Spec) (Spec, error) {
	if run.Content.Project == nil {
		if run.Inputs.Parameters.Project != nil {
			return run, errors.New("the project was not installed")
		}

		return run, nil
	}

	root, err := os.OpenRoot(run.Content.ProjectPath())
	if err != nil {
		return run, errors.Wrap(err, "cannot read the project")
	}
	defer root.Close() //nolint:errcheck // It was only read.

	if err := inProject(run, root); err != nil {
		return run, err
	}

	if _, given := inputs.Find(run.Inputs.Credentials, inputs.AnsibleConfigFile); given {
		return run, nil
	}

	data, err := workdir.ReadFile(root, inputs.AnsibleConfigFile, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return run, nil
	}

	if err != nil {
		return run, errors.Wrap(err, "cannot read the project")
	}

	run.Inputs.Credentials = append(slices.Clone(run.Inputs.Credentials),
		inputs.File{Name: inputs.AnsibleConfigFile, Data: data})
	run.Inputs.Inventories = withConfigured(run.Inputs, root)

	return run, nil
}

// withConfigured returns the inventories of a run. If it has none, these are what the ansible.cfg names in its project.
func withConfigured(in inputs.Inputs, root *os.Root) []inputs.File {
	names := in.AnsibleConfig().Get("defaults", "inventory")
	if names == "" || len(in.Inventories) > 0 || in.ForPlay()["ANSIBLE_INVENTORY"] != "" {
		return in.Inventories
	}

	var found []inputs.File

	for name := range strings.SplitSeq(names, ",") {
		name = path.Clean(strings.TrimSpace(name))
		// Anything else is for Ansible to read.
		if _, err := root.Stat(name); err != nil {
			return nil
		}

		found = append(found, inputs.File{Name: name, Path: name})
	}

	return found
}

// inProject returns an error for playbooks and inventories that are not in the project. Ansible takes an
// inventory that is not there for the name of a host.
func inProject(run Spec, root *os.Root) error {
	const field = "spec.forProvider."

	in := run.Inputs
	o := in.Parameters.OnDelete

	var missing []string

	look := func(at, name string) {
		if _, err := root.Stat(name); err != nil {
			missing = append(missing, fmt.Sprintf("%s: the project has no %q%s", at, name, beside(root, name)))
		}
	}
	playbooks := func(at, one string, more []string) {
		if inputs.IsProjectPlaybook(one) {
			look(at+"playbook", one)
		}

		for i, name := range more {
			if inputs.IsProjectPlaybook(name) {
				look(fmt.Sprintf("%splaybooks[%d]", at, i), name)
			}
		}
	}

	// A deletion has the playbooks of onDelete in their place.
	if run.State != common.StateAbsent || !o.Replaces() {
		playbooks(field, in.Parameters.Playbook, in.Parameters.Playbooks)
	}

	// A deletion is too late to learn that its playbook is not there.
	if o != nil && !o.Keeps() {
		playbooks(field+"onDelete.", o.Playbook, o.Playbooks)
	}

	for i, inv := range in.Parameters.Inventories {
		if inv.Path != "" {
			look(fmt.Sprintf("%sinventories[%d].path", field, i), inv.Path)
		}
	}

	if len(missing) == 0 {
		return nil
	}

	return errors.New(strings.Join(missing, "; "))
}

// beside lists what is in the directory where something was looked for, to be told after that; empty if there is no
// such directory, or nothing in it.
func beside(root *os.Root, name string) string {
	entries, _ := fs.ReadDir(root.FS(), path.Dir(name))

	var names []string

	for _, e := range entries {
		if inputs.IsProjectPlaybook(e.Name()) == inputs.IsProjectPlaybook(name) && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}

	switch n := len(names); {
	case n == 0:
		return ""
	case n > maxPlaybooks:
		names = append(names[:maxPlaybooks], fmt.Sprintf("and %d more", n-maxPlaybooks))
	}

	return " (there is: " + strings.Join(names, ", ") + ")"
}

// copyProject copies a project into the private data directory, where the run may change it. No other run sees the
// changes, and the set stays as it was installed.
func copyProject(from, to string) error {
	if err := os.Mkdir(to, modeDir); err != nil {
		return errors.Wrap(err, "cannot make a private data directory")
	}

	src, err := os.OpenRoot(from)
	if err != nil {
		return errors.Wrap(err, "cannot read the project")
	}
	defer src.Close() //nolint:errcheck // It was only read.

	return errors.Wrap(os.CopyFS(to, src.FS()), "cannot copy the project")
}
