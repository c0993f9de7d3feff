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

// Where Kubernetes puts a pod's service account.
const (
	podSecrets     = "/var/run/secrets"
	serviceAccount = podSecrets + "/kubernetes.io/serviceaccount"
	// podRuns is what the provider puts there for the Pod of a run. No run may read it.
	podRuns = "ansible.crossplane.io"
)

// Limits of what runs, and installations of content, take.
const (
	// maxMemory that one process may have for itself where the container has no limit to share.
	maxMemory = 4 << 30
	// maxProcesses and threads of the provider's user, its own and those of all runs.
	maxProcesses = 4096
	// maxRunSize on disk below the directory of a run, and of each file.
	maxRunSize = 10 << 30
)

// confinement has the flags for what runs, and installations of content, may do on this
// machine.
type confinement struct {
	Confinement sandbox.Mode `default:"Required"                                                                                                                           enum:"Required,BestEffort,Off" help:"Whether runs must be confined, by Landlock: Required refuses those of namespaces where the kernel cannot, BestEffort confines as far as it can, Off confines nothing."`
	ReadPath    []string     `help:"A path that all runs may read, beside the system. May be given several times."                                                         placeholder:"PATH"             sep:"none"`
	WritePath   []string     `help:"A path that all runs may read and write, beside their own directories, and by which they are not kept apart. May be given several times." placeholder:"PATH"             sep:"none"`

	// inPod is true in the Pod of a run, which has an image of its own.
	inPod bool

	// Idle is true where nothing is carried out, so that nothing is asked of the kernel.
	Idle bool `kong:"-"`

	// serviceAccount has the directories that count as one; empty for its own.
	serviceAccount []string

	// Sharing is how many runs share the memory of the container.
	Sharing int `kong:"-"`
}

// policy for a state directory on this machine, with what its kernel does. That it is less than the flags demand is
// logged.
func (c confinement) policy(ctx context.Context, stateDir string, log logging.Logger) (sandbox.Policy, error) {
	p, err := c.allowed(ctx, stateDir, log)
	if err != nil || c.Idle {
		return p, err
	}

	p.Kernel = p.Try()

	if k := p.Kernel; k.Unconfined != "" {
		log.Info("WARNING: Runs are NOT confined, content can read what the provider can, its service account's token "+
			"included: "+k.Unconfined, "confinement", c.Confinement, "seccomp", k.Seccomp)
	}

	return p, nil
}

// Refuses says why runs of namespaces are not carried out with a policy; empty if they are.
func (c confinement) Refuses(p sandbox.Policy) string {
	if c.Confinement != sandbox.Required {
		return ""
	}

	return p.Kernel.Unconfined
}

// allowed is the policy for a state directory that follows from the flags and the files of this machine.
func (c confinement) allowed(ctx context.Context, stateDir string, log logging.Logger) (sandbox.Policy, error) {
	state, err := filepath.EvalSymlinks(stateDir)
	if err != nil {
		return sandbox.Policy{}, errors.Wrap(err, "cannot tell where the state directory is")
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

// Covers returns an error with the flags that are missing, unless they allow what a configuration grants. One from a
// file grants nothing on this machine.
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

// identities are the directories below that of a Pod's secrets that make its service account: its
// token, and those that the workload identities of clouds put beside it.
func identities(secrets fs.FS) []string {
	entries, _ := fs.ReadDir(secrets, ".") // A Pod without a service account may have none.

	var dirs []string

	for _, e := range entries {
		if e.Name() != podRuns {
			dirs = append(dirs, filepath.Join(podSecrets, e.Name()))
		}
	}

	return dirs
}

// memory that one process of a run may have, and all processes of a run together; 0 where the container has no limit.
// One process may reserve up to twice that, since it uses less than it reserves. With a higher
// limit it could take so much at once that the kernel ends the provider, too.
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

// share says what the memory is that all processes of a run may have together.
func (c confinement) share() string {
	if c.inPod {
		return "which spec.execution.resources leave to it beside the provider's program"
	}

	return "its share of the provider's memory, which --max-concurrent-runs divides"
}

// kubeconfigs that this process may be using.
func kubeconfigs() []string {
	files := filepath.SplitList(os.Getenv("KUBECONFIG"))

	if home, err := os.UserHomeDir(); err == nil {
		files = append(files, filepath.Join(home, ".kube"))
	}

	return files
}
