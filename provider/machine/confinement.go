package machine

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// Paths of a Pod's ServiceAccount.
const (
	podSecrets     = "/var/run/secrets"
	serviceAccount = podSecrets + "/kubernetes.io/serviceaccount"
	// podRuns is the provider's directory below podSecrets in the Pod of a run. No run may read it.
	podRuns = "ansible.crossplane.io"
)

// Limits of runs, and of installations of content.
const (
	// maxMemory of one process, in bytes, where the container has no limit to share.
	maxMemory = 4 << 30
	// maxProcesses is the number of processes and threads of the provider's user, those of all runs included.
	maxProcesses = 4096
	// maxRunSize is the size on disk of the directory of a run, and of each file, in bytes.
	maxRunSize = 10 << 30
)

// confinement has the flags that confine runs, and installations of content, on this machine.
type confinement struct {
	Confinement sandbox.Mode `default:"Required"                                                                                                                           enum:"Required,BestEffort,Off" help:"Whether runs must be confined, by Landlock: Required refuses those of namespaces where the kernel cannot, BestEffort confines as far as it can, Off confines nothing."`
	ReadPath    []string     `help:"A path that all runs may read, beside the system. May be given several times."                                                         placeholder:"PATH"             sep:"none"`
	WritePath   []string     `help:"A path that all runs may read and write, beside their own directories, and by which they are not kept apart. May be given several times." placeholder:"PATH"             sep:"none"`

	// inPod is true in the Pod of a run, which has an image of its own.
	inPod bool

	// Idle is true in a process without runs, which does not test the kernel.
	Idle bool `kong:"-"`

	// serviceAccount has the directories of the ServiceAccount; empty for its usual path.
	serviceAccount []string

	// Sharing is how many runs share the memory of the container.
	Sharing int `kong:"-"`
}

// policy returns the policy for a state directory on this machine, with the tested abilities of its kernel. It logs a
// warning if runs are not confined.
func (c confinement) policy(ctx context.Context, stateDir string, log logging.Logger) (sandbox.Policy, error) {
	p, err := c.fromFlags(ctx, stateDir, log)
	if err != nil || c.Idle {
		return p, err
	}

	p.Kernel = p.Try()

	if k := p.Kernel; k.Unconfined != "" {
		log.Info("WARNING: Runs are NOT confined, content can read every file of the provider, the token of its "+
			"ServiceAccount included: "+k.Unconfined, "confinement", c.Confinement, "seccomp", k.Seccomp)
	}

	return p, nil
}

// Refuses returns why runs of namespaced AnsibleRuns are refused under a policy; empty if they are allowed.
func (c confinement) Refuses(p sandbox.Policy) string {
	if c.Confinement != sandbox.Required {
		return ""
	}

	return p.Kernel.Unconfined
}

// fromFlags returns the policy for a state directory that follows from the flags and the files of this machine.
func (c confinement) fromFlags(ctx context.Context, stateDir string, log logging.Logger) (sandbox.Policy, error) {
	state, err := filepath.EvalSymlinks(stateDir)
	if err != nil {
		return sandbox.Policy{}, errors.Wrap(err, "cannot resolve the state directory")
	}

	memory, together := c.memory(os.DirFS("/"), log)

	p := sandbox.Policy{
		Mode: c.Confinement, State: state, ServiceAccount: c.serviceAccount, Write: c.WritePath,
		Limits: sandbox.Limits{
			Memory: memory, Together: together, Share: c.share(), Processes: maxProcesses, FileSize: maxRunSize,
		},
		RunSize: maxRunSize,
	}

	if len(p.ServiceAccount) == 0 {
		p.ServiceAccount = []string{serviceAccount}
	}

	passed := environ.Passed(os.Environ())
	p.Read = append(slices.Clone(c.ReadPath), environ.Authorities(passed)...)

	for _, path := range slices.Concat(p.Read, p.Write) {
		if err := p.Validate(path); err != nil {
			return sandbox.Policy{}, err
		}
	}

	if c.Confinement == sandbox.Off {
		return p, nil
	}

	script, err := exec.LookPath("ansible-playbook")
	if err != nil {
		return sandbox.Policy{}, errors.Wrap(err, "cannot find Ansible")
	}

	env := passed
	if c.inPod {
		env = environ.Image(os.Environ())
		maps.Copy(env, passed)
	}

	programs, err := sandbox.Programs(ctx, script, environ.List(env))
	if err != nil {
		return sandbox.Policy{}, err
	}

	machine, err := sandbox.ThisMachine()
	if err != nil {
		return sandbox.Policy{}, err
	}

	machine.Whole = c.inPod
	p.System = machine.Survey(programs, append(kubeconfigs(), state, podSecrets))

	return p, nil
}

// Covers returns an error with the flags that are missing for the grant of a configuration. A configuration from a file
// grants nothing on this machine by itself.
func (c confinement) Covers(g sandbox.Grant) error {
	if c.Confinement == sandbox.Off {
		return nil
	}

	var missing []string

	add := func(flag string, paths []string, by ...string) {
		for _, path := range paths {
			if !slices.ContainsFunc(by, func(dir string) bool { return sandbox.Within(path, dir) }) {
				missing = append(missing, flag+"="+path)
			}
		}
	}

	if g.ServiceAccount {
		g.Read = append(slices.Clone(g.Read), serviceAccount)
	}

	add("--read-path", g.Read, slices.Concat(c.ReadPath, c.WritePath)...)
	add("--write-path", g.Write, c.WritePath...)

	if missing == nil {
		return nil
	}

	return errors.New("spec.confinement grants nothing on this machine: to allow it, add " + strings.Join(missing, " "))
}

// identities returns the directories of a Pod's ServiceAccount: that of its token, and those of the workload identities
// of clouds beside it.
func identities(secrets fs.FS) []string {
	entries, _ := fs.ReadDir(secrets, ".") // A Pod without a ServiceAccount may lack the directory.

	var dirs []string

	for _, e := range entries {
		if e.Name() != podRuns {
			dirs = append(dirs, filepath.Join(podSecrets, e.Name()))
		}
	}

	return dirs
}

// memory returns the limits of one process of a run, and of all processes of a run together, in bytes; together is 0 if
// the container has no limit. One process may reserve twice as much as all may use, since it uses less than it
// reserves. A higher limit would let it allocate so much at once that the kernel also kills the provider.
func (c confinement) memory(root fs.FS, log logging.Logger) (each, together int64) {
	container := sandbox.ContainerMemory(root)
	together, enough := sandbox.MemoryShare(container, c.Sharing)

	switch {
	case enough:
	case c.inPod:
		log.Info("WARNING: The memory limit of the container is too little, raise spec.execution.resources",
			"memory", container)
	default:
		log.Info(
			"WARNING: The memory of the container is too little for --max-concurrent-runs: when they need it all, the kernel "+
				"ends the provider with them",
			"memory", container, "max-concurrent-runs", c.Sharing)
	}

	if together > 0 {
		return 2 * together, together
	}

	return maxMemory, 0
}

// share describes the memory limit of all processes of a run, for error messages.
func (c confinement) share() string {
	if c.inPod {
		return "which spec.execution.resources leave to it beside the provider's program"
	}

	return "its share of the provider's memory, which --max-concurrent-runs divides"
}

// kubeconfigs returns the kubeconfigs that this process may be using.
func kubeconfigs() []string {
	files := filepath.SplitList(os.Getenv("KUBECONFIG"))

	if home, err := os.UserHomeDir(); err == nil {
		files = append(files, filepath.Join(home, ".kube"))
	}

	return files
}
