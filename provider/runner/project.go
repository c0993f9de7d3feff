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

// projectPlaybookFile is the name of the generated playbook of a run with a project, unless the run uses one playbook
// of the project. The name playbook.yml may be in use.
const projectPlaybookFile = ".provider-ansible.yml"

const (
	// maxConfig is the largest size of an ansible.cfg in a project, in bytes.
	maxConfig = 1 << 20
	// maxPlaybooks is the largest number of playbooks of a project that a message lists.
	maxPlaybooks = 10
)

// playbookOf returns the file name of the playbook of a run, in the working directory, and whether the runner makes the
// file. Ansible shows the name, so that a single playbook of a project is used directly.
func playbookOf(run Spec) (name string, made bool) {
	switch {
	case run.Content.Project == nil:
		return playbookFile, true
	case inputs.IsProjectPlaybook(run.Inputs.Parameters.Playbook):
		return run.Inputs.Parameters.Playbook, false
	}

	return projectPlaybookFile, true
}

// withProject returns a run with the ansible.cfg of its project, unless the credentials have one, and with the
// inventories that this file names. The error names playbooks and inventories that are not in the project.
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

// withConfigured returns the inventories of a run. If the inputs name none, these are the inventories of the project
// that the ansible.cfg names.
func withConfigured(in inputs.Inputs, root *os.Root) []inputs.File {
	names := in.AnsibleConfig().Get("defaults", "inventory")
	if names == "" || len(in.Inventories) > 0 || in.ForPlay()["ANSIBLE_INVENTORY"] != "" {
		return in.Inventories
	}

	var found []inputs.File

	for name := range strings.SplitSeq(names, ",") {
		name = path.Clean(strings.TrimSpace(name))
		// Ansible itself handles a list with other names than files of the project.
		if _, err := root.Stat(name); err != nil {
			return nil
		}

		found = append(found, inputs.File{Name: name, Path: name})
	}

	return found
}

// inProject returns an error for playbooks and inventories that are not in the project. Ansible would take the path of
// a missing inventory for the name of a host.
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

	// In a deletion, the playbooks of onDelete replace these.
	if run.State != common.StateAbsent || !o.Replaces() {
		playbooks(field, in.Parameters.Playbook, in.Parameters.Playbooks)
	}

	// The playbooks of a deletion are checked in every run, so that an error shows before the deletion.
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

// beside returns a list of the files of the same type in the directory of a missing file, as the end of a message;
// empty if there are none.
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

// copyProject copies a project into the private data directory, where the run may change it without an effect on the
// content set and on other runs.
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
