// Package worker is what a Pod does that the provider has made for a run: one container installs the content, the next
// one carries the run out, and reports through the log.
package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr/funcr"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/kubeapi"
	"github.com/crossplane-ansible/crossplane-ansible/provider/machine"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pods"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
)

// A Worker carries out the run of a Pod. The provider makes the Pod, and reads its log.
type Worker struct {
	machine.Machine

	ContentTTL     time.Duration `default:"1h" help:"How long content that is not pinned serves before it is resolved again; 0 means for ever."`
	Payload        string        `help:"Directory with the inputs of the run."                 required:""`
	ServiceAccount bool          `help:"Let the run read the service account of the Pod."`
	Content        string        `help:"Directory for content, which only the container that installs it may write."`
	Install        bool          `help:"Only install the content, for the container of the run."`
}

// Run does what the payload says. Kubernetes looks for the reason why a container has ended in a file.
func (c *Worker) Run(ctx context.Context) error {
	err := c.work(ctx)
	if err != nil {
		_ = os.WriteFile("/dev/termination-log", []byte(err.Error()), 0o600) // The log of the container has it, too.
	}

	return err
}

func (c *Worker) work(ctx context.Context) error {
	p, err := pods.ReadPayload(os.DirFS(c.Payload))
	if err != nil {
		return err
	}

	todo := runs.Run{Spec: p.Spec, Request: p.Request}
	todo.Inputs.Grant.ServiceAccount = c.ServiceAccount

	if c.Install {
		i, err := c.install(ctx, todo, p.ContentKey)
		if err != nil {
			i.Failed = cannot(todo, err)
		}

		return c.keep(i)
	}

	if todo.Inputs.Kubernetes != nil {
		api, err := kubeapi.InPod(p.Cluster, filepath.Join(c.Payload, pods.FileToken))
		if err != nil {
			return err
		}

		c.Cluster = api
	}

	w, err := sealed.NewWriter(os.Stdout, p.Key, p.Spec.ID, p.Pod)
	if err != nil {
		return err
	}

	report, err := c.carryOut(ctx, todo, w)
	if err != nil {
		report = *cannot(todo, err)
	}

	// It is displayed before the last report: a node puts the lines of the standard error between the pieces of a long
	// line, which that may be.
	var failed error

	if n := report.Run; n.Phase != common.PhaseSucceeded {
		failed = &DisplayedError{errors.Errorf("%s: %s: %s", n.Phase, n.Reason, n.Message)}
		w.Display(failed.Error())
	}

	return cmp.Or(w.Report(report), failed)
}

// A DisplayedError is one that the log of the Pod shows.
type DisplayedError struct{ error }

// An installation is what one container of a Pod has to say to the next one.
type installation struct {
	// Set that is installed.
	Set content.Set
	// Failed is the report of a run with content that could not be installed; nil for any other.
	Failed *runs.Report
}

// installed is the file of the installation.
func (c *Worker) installed() string { return filepath.Join(c.StateDir, "installation.json") }

// keep an installation, for the container of the run.
func (c *Worker) keep(i installation) error {
	text, err := json.Marshal(i) //nolint:musttag // The same program reads it.
	if err == nil {
		err = os.WriteFile(c.installed(), text, 0o600)
	}

	return errors.Wrap(err, "cannot keep what was installed")
}

// kept is the installation; the zero value where nothing was to be installed.
func (c *Worker) kept() (i installation, err error) {
	text, err := os.ReadFile(c.installed())
	if errors.Is(err, fs.ErrNotExist) {
		return i, nil
	}

	if err == nil {
		err = json.Unmarshal(text, &i) //nolint:musttag // The same program has written it.
	}

	return i, errors.Wrap(err, "cannot tell what was installed")
}

// install the content of the run, in a container of its own: that of the run can then only read
// it. Content that is not pinned is resolved again if it is due, as long as the run has time.
func (c *Worker) install(ctx context.Context, todo runs.Run, key []byte) (i installation, err error) {
	log := c.prepareOwn()

	at, err := c.Prepare(ctx, log)
	if err != nil {
		return i, err
	}

	store, err := c.Store(ctx, at, content.Config{
		// Users of other images cannot read what this one installs, which has another digest anyway.
		Dir:     filepath.Join(c.Content, strconv.Itoa(os.Geteuid())),
		Private: filepath.Join(c.StateDir, "installs"),
		Lease:   cmp.Or(pods.Deadline(c.MaxTimeout), longestRun),
		Key:     key,
		TTL:     c.ContentTTL,
	})
	if err != nil {
		return i, err
	}

	here := executor.Local{Ensure: func(ctx context.Context, r content.Request) (content.Set, func(), error) {
		if err := store.Resolve(ctx, r); err != nil {
			log.Info("Using the content that is installed", "error", err)
		}

		return store.Ensure(ctx, r)
	}}

	set, report, ok := here.Install(ctx, todo)
	if !ok {
		log.Info(report.Run.Message)

		return installation{Failed: new(explained(report))}, nil
	}

	return installation{Set: set}, nil
}

// longestRun is how long a run without a timeout may take.
const longestRun = 365 * 24 * time.Hour

// carryOut the run. That this machine cannot do it is reported, too.
func (c *Worker) carryOut(ctx context.Context, todo runs.Run, to *sealed.Writer) (report runs.Report, err error) {
	i, err := c.kept()

	switch {
	case err != nil:
		return report, err
	case i.Failed != nil:
		return *i.Failed, nil
	}

	log := c.prepareOwn()

	at, err := c.Prepare(ctx, log)
	if err != nil {
		return report, err
	}

	local, err := c.Runner(at, log)
	if err != nil {
		return report, err
	}

	w := runs.Watch{Progress: func(r runs.Report) { _ = to.Report(r) }, Display: to.Display} // The last report says all.
	here := executor.Local{Run: local.Run, Kernel: at.Policy.Kernel, Ensure: func(context.Context, content.Request,
	) (content.Set, func(), error) {
		return i.Set, func() {}, nil
	}}

	return explained(here.Execute(ctx, todo, w)), nil
}

// explained is a report that says so when the run needed too much memory. With cgroups v2 the kernel ends the whole
// container, and the Pod says it.
func explained(report runs.Report) runs.Report {
	if report.Run.Phase == common.PhaseFailed && oomKilled(os.DirFS("/sys/fs/cgroup")) {
		report.Run.Reason = runner.ReasonOutOfMemory
		report.Run.Message = "the kernel ended a process of the run, since its container needed more memory than its " +
			"limit; raise spec.execution.resources: " + report.Run.Message
	}

	return report
}

// oomKilled is true once the kernel has ended a process of the container for the lack of memory.
// https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files
func oomKilled(cgroup fs.FS) bool {
	for _, file := range []string{"memory.events", "memory/memory.oom_control"} {
		text, err := fs.ReadFile(cgroup, file)
		if err != nil {
			continue
		}

		for line := range strings.Lines(string(text)) {
			if n, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok && n != "0" {
				return true
			}
		}
	}

	return false
}

// prepareOwn prepares what a Pod has for one run alone, and returns a log.
func (c *Worker) prepareOwn() logging.Logger {
	c.Machine = c.AsPod(c.ServiceAccount)

	// Directories that the image has may be read-only.
	if home := os.Getenv("HOME"); home != "" {
		_ = os.MkdirAll(home, 0o700) // Ansible says what is wrong with it.
	}

	return logging.NewLogrLogger(funcr.New(func(_, args string) { fmt.Fprintln(os.Stdout, args) }, funcr.Options{})) //nolint:errcheck // An error can go nowhere else.
}

// cannot returns the report of a run that this machine cannot carry out.
func cannot(todo runs.Run, err error) *runs.Report {
	report := todo.Report()
	report.Run.Phase, report.Run.Reason = common.PhaseFailed, common.ReasonInternal
	report.Run.Message = "the Pod cannot carry out runs: " + err.Error()
	report.Blameless = true

	return &report
}
