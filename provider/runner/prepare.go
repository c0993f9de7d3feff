package runner

import (
	"bytes"
	_ "embed"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// play is the Python program that starts ansible-playbook.
//
//go:embed play.py
var play string

// driver is the Python program that runs ansible-runner and reports its events.
//
//go:embed driver.py
var driver []byte

// A plan is everything that ansible-runner needs to execute a run.
type plan struct {
	// Dir is the private data directory of the run.
	Dir string
	// Files to write into it.
	Files []file
	// Project is the directory to copy into Dir before the files; empty for none.
	Project string
	// Facts is the directory of the fact cache; empty for none.
	Facts string
	// Args of the driver of ansible-runner.
	Args []string
	// Env is the whole environment of ansible-runner and of the play.
	Env []string
	// Domain confines the run.
	Domain sandbox.Domain
}

// prepare returns the plan of a run in a private data directory with a new name. It writes no files. The error is about
// the inputs.
func (r *Runner) prepare(run Spec) (plan, error) {
	dir := filepath.Join(r.dir, r.name())
	in := run.Inputs

	if in.Kubernetes != nil && r.Cluster == nil {
		return plan{}, errors.Errorf("%s: spec.kubernetes needs a provider in a cluster, and there is none here", in.Config)
	}

	inv, vars := r.inventories(in), varFiles(run)
	name, made := playbookOf(run)

	facts, writes := r.factsOf(run), []string{dir}
	if facts != "" {
		writes = append(writes, facts)
	}

	files := []file{
		{Path: filepath.Join(projectDir, name), Data: playbook(in), Given: !made},
		// The empty file keeps Ansible from reading the ansible.cfg of the machine.
		{Path: inputs.AnsibleConfigFile},
		{Path: driverFile, Data: driver},
	}
	files = append(files, credentials(in)...)
	files = append(files, inv...)
	files = append(files, vars...)

	// Paths that are empty or do not exist are skipped when the run enters the domain.
	domain, err := r.Policy.Domain([]string{run.Content.Dir, r.Shipped}, writes, in.Grant)
	if err != nil {
		return plan{}, errors.Wrap(err, in.Config)
	}

	return plan{
		Dir:     dir,
		Files:   files,
		Project: run.Content.ProjectPath(),
		Facts:   facts,
		Args:    append([]string{dir, facts, oldestCore, oldestRunner}, r.playArgv(run, dir, inv, vars, name)...),
		Env:     r.environment(run, dir, domain),
		Domain:  domain,
	}, nil
}

// playArgv returns the argv of ansible-playbook. Values of users are in the argument of their option, so that no value
// is taken for an option.
func (r *Runner) playArgv(run Spec, dir string, inv, vars []file, playbook string) []string {
	p := run.Inputs.Parameters
	argv := slices.Clone(r.play)

	for _, f := range inv {
		argv = append(argv, "--inventory="+filepath.Join(dir, f.Path))
	}

	for _, f := range vars {
		argv = append(argv, "--extra-vars=@"+filepath.Join(dir, f.Path))
	}

	if p.Limit != "" {
		argv = append(argv, "--limit="+p.Limit)
	}

	if len(p.Tags) > 0 {
		argv = append(argv, "--tags="+strings.Join(p.Tags, ","))
	}

	if len(p.SkipTags) > 0 {
		argv = append(argv, "--skip-tags="+strings.Join(p.SkipTags, ","))
	}

	if p.Forks != nil {
		argv = append(argv, "--forks="+strconv.Itoa(int(*p.Forks)))
	}

	if p.Verbosity != nil && *p.Verbosity > 0 {
		argv = append(argv, "-"+strings.Repeat("v", int(*p.Verbosity)))
	}

	if run.Mode == common.ModeCheck {
		argv = append(argv, "--check")
	}

	if run.Mode == common.ModeCheck || run.Diff {
		argv = append(argv, "--diff")
	}

	return append(append(argv, run.Only...), playbook)
}

// credentials returns the files of the credentials, in the working directory of the play.
func credentials(in inputs.Inputs) []file {
	files := make([]file, len(in.Credentials))
	for i, c := range in.Credentials {
		if bytes.HasPrefix(c.Data, []byte("-----BEGIN ")) {
			c = c.WithLineEnd()
		}

		files[i] = file{Path: filepath.Join(projectDir, c.Name), Data: c.Data}
	}

	return files
}
