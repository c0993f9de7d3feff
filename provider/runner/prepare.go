package runner

import (
	_ "embed"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// What is in a private data directory. The first three are ansible-runner's.
const (
	projectDir   = "project"
	inventoryDir = "inventory"
	envDir       = "env"
	varsDir      = "vars"
	homeDir      = "home"
	tempDir      = "tmp"
	// controlDir holds sockets, whose paths must be short.
	controlDir   = "cp"
	playbookFile = inputs.PlaybookFile

	modeFile       fs.FileMode = 0o600
	modeExecutable fs.FileMode = 0o700
	modeDir        fs.FileMode = 0o700
)

// argsFile has the command to run, for ansible-runner.
const argsFile = "args"

// driver runs ansible-runner, and has its events to itself.
//
//go:embed driver.py
var driver []byte

const driverFile = "driver.py"

// ident names the one directory of artifacts in a private data directory.
const ident = "run"

// A File of a private data directory.
type File struct {
	// Path in the private data directory.
	Path string
	// Data of the file.
	Data []byte
	// Mode of the file.
	Mode fs.FileMode
}

// A Plan is everything that is needed to execute a run. To make one has no
// effect.
type Plan struct {
	// Dir is the private data directory of the run.
	Dir string
	// Dirs to make in it, for other things than files.
	Dirs []string
	// Files to write into it.
	Files []File
	// Argv of the driver of ansible-runner.
	Argv []string
	// Play is the argv of ansible-playbook, which ansible-runner reads from a file.
	Play []string
	// Env of ansible-runner and of the play, and all of it.
	Env []string
	// Domain that the run is confined to.
	Domain sandbox.Domain
}

// Prepare a run, in a private data directory of a new name. The error says what is
// wrong with the inputs.
func (r *Runner) Prepare(run Run) (Plan, error) {
	dir := filepath.Join(r.dir, r.name())
	in := run.Inputs

	if err := in.ValidateConfig(); err != nil {
		return Plan{}, err
	}

	text, err := playbook(in)
	if err != nil {
		return Plan{}, err
	}

	vars, err := varFiles(run)
	if err != nil {
		return Plan{}, err
	}

	inv := inventories(in)

	files := []File{
		{Path: filepath.Join(projectDir, playbookFile), Data: text, Mode: modeFile},
		// Without an own ansible.cfg the machine's must not count.
		{Path: fileConfig, Mode: modeFile},
		{Path: driverFile, Data: driver, Mode: modeFile},
		// Events are read from the stream; nothing else keeps the output.
		{Path: filepath.Join(envDir, "settings"), Data: []byte(`{"suppress_output_file": true}` + "\n"), Mode: modeFile},
	}
	files = append(files, credentials(in)...)
	files = append(files, inv...)
	files = append(files, asyncVars(in, inv)...)
	files = append(files, vars...)

	domain, err := r.domain(run, dir)
	if err != nil {
		return Plan{}, errors.Wrap(err, in.Config)
	}

	return Plan{
		Dir:    dir,
		Dirs:   []string{homeDir, tempDir, controlDir},
		Files:  files,
		Argv:   append(slices.Clone(r.python), filepath.Join(dir, driverFile), dir, playbookFile, ident),
		Play:   r.playArgv(run, dir, inv, vars),
		Env:    r.environment(run, dir),
		Domain: domain,
	}, nil
}

// domain of a run: its own directory, its content, and what the provider ships.
func (r *Runner) domain(run Run, dir string) (sandbox.Domain, error) {
	var read []string

	if run.Content.Dir != "" {
		read = append(read, run.Content.Dir)
	}

	if r.shipped != nil {
		read = append(read, r.shipped.Path())
	}

	return r.policy.Domain(read, []string{dir}, run.Inputs.Grant)
}

// playArgv is the argv of ansible-playbook. Values that users give are joined
// to their options, so that none is taken for an option.
func (r *Runner) playArgv(run Run, dir string, inv, vars []File) []string {
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

	if len(p.Tags) > 0 && run.State != common.StateAbsent {
		argv = append(argv, "--tags="+strings.Join(p.Tags, ","))
	}

	if len(p.SkipTags) > 0 && run.State != common.StateAbsent {
		argv = append(argv, "--skip-tags="+strings.Join(p.SkipTags, ","))
	}

	if p.Forks != nil {
		argv = append(argv, "--forks="+strconv.Itoa(int(*p.Forks)))
	}

	if p.Verbosity != nil && *p.Verbosity > 0 {
		argv = append(argv, "-"+strings.Repeat("v", int(*p.Verbosity)))
	}

	if run.Mode == common.ModeCheck {
		argv = append(argv, "--check", "--diff")
	}

	return append(argv, playbookFile)
}

// commandLine quotes an argv for a POSIX shell, which is what ansible-runner
// splits it like.
func commandLine(argv []string) string {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = "'" + strings.ReplaceAll(a, "'", `'"'"'`) + "'"
	}

	return strings.Join(quoted, " ") + "\n"
}
