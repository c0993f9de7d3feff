package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/config"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/machine"
	"github.com/crossplane-ansible/crossplane-ansible/provider/play"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/terminal"
	"github.com/crossplane-ansible/crossplane-ansible/provider/tree"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

type runCommand struct {
	machine.Machine
	tree.Tree

	Files            []*os.File      `help:"Manifests: the AnsibleRun, its configuration, and the Secrets and ConfigMaps that they refer to; - reads standard input." name:"file" placeholder:"FILE" sep:"none" short:"f" xor:"what"`
	Name             string          `help:"Name of the AnsibleRun, when the manifests have more than one."`
	Check            bool            `help:"Only predict what the run would change."`
	Diff             bool            `help:"Show the differences in files; --check does so in any case."`
	SyntaxCheck      bool            `help:"Only check the syntax of the playbooks."`
	ListTasks        bool            `help:"Only list the tasks that would run."`
	State            common.RunState `default:"present"                                                                                                          enum:"present,absent" help:"State to bring about: present or absent."`
	AllowHostSources bool            `help:"Allow the sources Filesystem and Environment."`
	Output           string          `default:"text"                                                                                                             enum:"text,json,yaml" help:"What to show: text, as ansible-playbook shows it, or the result as JSON. With yaml nothing runs: what would is printed as an AnsibleRun." short:"o"`
	Verbose          int             `help:"Show more, as ansible-playbook does; -vv and -vvv show still more." short:"v" type:"counter"`
}

// Validate validates the flags.
func (c *runCommand) Validate() error {
	switch {
	case c.Project == "" && len(c.Files) == 0:
		return errors.New("give the manifest of an AnsibleRun with --file, or a directory with --project")
	case c.Project == "" && !reflect.DeepEqual(c.Tree, tree.Tree{}):
		return errors.New(
			"a playbook, and the flags that say what of a project runs, need --project: manifests say it themselves")
	case c.Role != "" && c.Playbook != "":
		return errors.New("--role is in place of a playbook")
	case c.Output == "json" && (c.SyntaxCheck || c.ListTasks):
		return errors.New("--output=json prints the result of a run: --syntax-check and --list-tasks carry out none")
	case c.Output == "yaml" && c.Project == "":
		return errors.New("--output=yaml prints what --project runs")
	}

	return c.Machine.Validate()
}

// manifests returns the manifests in the files, or those for the directory of --project.
func (c *runCommand) manifests() (*config.Manifests, error) {
	m := config.NewManifests()

	if c.Project != "" {
		text, err := c.Manifests()
		if err != nil {
			return nil, err
		}

		return m, m.Add("--project", bytes.NewReader(text))
	}

	for _, f := range c.Files {
		if err := m.Add(f.Name(), f); err != nil {
			return nil, err
		}
	}

	return m, nil
}

// Run runs one AnsibleRun on this machine.
func (c *runCommand) Run(ctx context.Context) error {
	m, err := c.manifests()
	if err != nil {
		return err
	}

	if c.Output == "yaml" {
		text, err := c.Manifests()
		if err == nil {
			_, err = os.Stdout.Write(text)
		}

		return errors.Wrap(err, "cannot print the manifests")
	}

	if others := m.Ignored; len(others) > 0 {
		fmt.Fprintln(os.Stderr, play.Escaped("ignored, since no run needs it: "+strings.Join(others, ", ")))
	}

	run, err := choose(m.Runs, c.Name)
	if err != nil {
		return err
	}

	// The flag --state sets the state, and not the manifest.
	run.SetDeletionTimestamp(nil)

	if c.State == common.StateAbsent {
		if run.Parameters().OnDelete.Keeps() {
			return errors.New("a deletion runs nothing: spec.forProvider.onDelete.policy is Keep; to run something, take it out")
		}

		run.SetDeletionTimestamp(new(metav1.Now()))
	}

	r := config.Resolver{Reader: m, Host: c.AllowHostSources}

	in, err := r.Resolve(ctx, run)
	if err != nil {
		return err
	}

	if err := c.Covers(in.Grant); err != nil {
		return errors.Wrap(err, in.Config)
	}

	in.Tree = c.Project                      // The path is absolute.
	in.Grant.Read, in.Grant.Write = nil, nil // The flags cover the grant. Its links may have changed since the check.

	if v := run.Parameters(); c.Verbose > 0 && (v.Verbosity == nil || int(*v.Verbosity) < c.Verbose) {
		in.Parameters.Verbosity = new(int32(min(c.Verbose, 5))) // The highest level of Ansible.
	}

	t := terminal.New(os.Stdout, os.Stderr, c.Output == "json", c.Verbose > 0)

	req, err := content.NewRequest(in)
	if err != nil {
		return err
	}

	// Content that is not pinned, or is local, is removed after the run, so that its author always runs the present
	// version. The next run removes the directory of a killed run.
	dir, stays := c.ContentDir(), req.Requirements.Pinned() && !req.Requirements.Local()
	if !stays {
		dir = filepath.Join(c.RunsDir(), "content")
	}

	log := logging.NewLogrLogger(funcr.New(func(_, args string) { t.Printf("%s", args) }, funcr.Options{}))

	at, local, store, err := c.Parts(ctx, content.Config{Dir: dir}, log)
	if err != nil {
		return err
	}

	if why := c.Refuses(at.Policy); why != "" && config.IsTenant(run) {
		return errors.Errorf("the run of a namespace cannot be confined: %s; --confinement=BestEffort carries it out", why)
	}

	if !stays {
		defer workdir.Remove(dir) //nolint:errcheck // The next run removes it, too.
	}

	todo := runs.Run{Spec: runner.Spec{
		ID:      string(uuid.NewUUID()),
		Mode:    common.ModeApply,
		State:   c.State,
		Trigger: common.TriggerRequested,
		Attempt: 1,
		Object:  runner.ObjectOf(run),
		Inputs:  in,
		Timeout: c.Timeouts().Of(*run.Parameters()),
		Diff:    c.Diff,

		StateIgnored: true, // There is no status of an earlier run.
	}}

	// With one of these options, ansible-playbook runs no tasks.
	for option, wanted := range map[string]bool{"--syntax-check": c.SyntaxCheck, "--list-tasks": c.ListTasks} {
		if wanted {
			todo.Only = append(todo.Only, option)
		}
	}

	if c.Check && todo.Only == nil {
		todo.Mode = common.ModeCheck
	}

	w := runs.Watch{Progress: t.Progress, Display: t.Display}

	here := executor.Local{Ensure: store.Ensure, Run: local.Run, Kernel: at.Policy.Kernel}

	return t.End(here.Execute(ctx, todo, w))
}

// choose returns the AnsibleRun with a name, or the only one without a name.
func choose(runs []common.AnsibleRun, name string) (common.AnsibleRun, error) {
	var names []string

	for _, r := range runs {
		if r.GetName() == name || name == "" && len(runs) == 1 {
			return r, nil
		}

		names = append(names, r.GetName())
	}

	if names == nil {
		return nil, errors.New("the manifests have no AnsibleRun")
	}

	return nil, errors.Errorf("choose an AnsibleRun of the manifests with --name: %s", strings.Join(names, ", "))
}
