// Package worker is the program in the Pod of a run: one container installs the content, and the next container
// executes the run and writes its reports into the log.
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

// A Worker is the command that executes the run of a Pod. The provider creates the Pod, and reads its log.
type Worker struct {
	machine.Machine

	ContentTTL     time.Duration `default:"1h" help:"How long content that is not pinned serves before it is resolved again; 0 means for ever."`
	Payload        string        `help:"Directory with the inputs of the run."                 required:""`
	ServiceAccount bool          `help:"Let the run read the service account of the Pod."`
	Content        string        `help:"Directory for content, which only the container that installs it may write."`
	Install        bool          `help:"Only install the content, for the container of the run."`
}

// Run executes the run in the payload, or installs its content. It writes an error into the termination message of the
// container.
func (c *Worker) Run(ctx context.Context) error {
	err := c.work(ctx)
	if err != nil {
		_ = os.WriteFile("/dev/termination-log", []byte(err.Error()), 0o600) // The error is in the log, too.
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

	// The error is displayed before the last report: a kubelet may put lines of standard error between the parts of a long
	// line, such as a report.
	var failed error

	if n := report.Run; n.Phase != common.PhaseSucceeded {
		failed = &DisplayedError{errors.Errorf("%s: %s: %s", n.Phase, n.Reason, n.Message)}
		w.Display(failed.Error())
	}

	return cmp.Or(w.Report(report), failed)
}

// A DisplayedError is an error that is already in the log of the Pod.
type DisplayedError struct{ error }

// An installation is the message of the container that installs content to the container of the run.
type installation struct {
	// Set is the installed content.
	Set content.Set
	// Failed is the report of a run with content that could not be installed; nil after a success.
	Failed *runs.Report
}

// installed returns the path of the file with the installation.
func (c *Worker) installed() string { return filepath.Join(c.StateDir, "installation.json") }

// keep writes an installation for the container of the run.
func (c *Worker) keep(i installation) error {
	text, err := json.Marshal(i) //nolint:musttag // The same program reads it.
	if err == nil {
		err = os.WriteFile(c.installed(), text, 0o600)
	}

	return errors.Wrap(err, "cannot write the result of the installation")
}

// kept returns the installation; the zero value if the Pod has no container that installs content.
func (c *Worker) kept() (i installation, err error) {
	text, err := os.ReadFile(c.installed())
	if errors.Is(err, fs.ErrNotExist) {
		return i, nil
	}

	if err == nil {
		err = json.Unmarshal(text, &i) //nolint:musttag // The same program has written it.
	}

	return i, errors.Wrap(err, "cannot read the result of the installation")
}

// install installs the content of the run in a container of its own, so that the container of the run can only read it.
// Content that is not pinned is resolved again if that is due.
func (c *Worker) install(ctx context.Context, todo runs.Run, key []byte) (i installation, err error) {
	log := c.prepareOwn()

	at, err := c.Prepare(ctx, log)
	if err != nil {
		return i, err
	}

	store, err := c.Store(ctx, at, content.Config{
		// A directory for each user id: other users cannot read the files of this one.
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

// longestRun is the assumed duration of a run without a timeout.
const longestRun = 365 * 24 * time.Hour

// carryOut executes the run, and returns its last report. The error is about this machine.
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

	// The last report is complete.
	w := runs.Watch{Progress: func(r runs.Report) { _ = to.Report(r) }, Display: to.Display}
	here := executor.Local{Run: local.Run, Kernel: at.Policy.Kernel, Ensure: func(context.Context, content.Request,
	) (content.Set, func(), error) {
		return i.Set, func() {}, nil
	}}

	return explained(here.Execute(ctx, todo, w)), nil
}

// explained adds to the report of a failed run that the kernel has ended one of its processes for lack of memory. If
// the kernel ends the whole container, the state of the Pod tells that.
func explained(report runs.Report) runs.Report {
	if report.Run.Phase == common.PhaseFailed && oomKilled(os.DirFS("/sys/fs/cgroup")) {
		report.Run.Reason = runner.ReasonOutOfMemory
		report.Run.Message = "the kernel ended a process of the run, since its container needed more memory than its " +
			"limit; raise spec.execution.resources: " + report.Run.Message
	}

	return report
}

// oomKilled is true once the kernel has ended a process of the container for lack of memory.
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

// prepareOwn sets the machine up as a Pod for one run, makes the home directory, and returns a log.
func (c *Worker) prepareOwn() logging.Logger {
	c.Machine = c.AsPod(c.ServiceAccount)

	// Directories of the image may be read-only.
	if home := os.Getenv("HOME"); home != "" {
		_ = os.MkdirAll(home, 0o700) // Ansible reports errors about it.
	}

	return logging.NewLogrLogger(funcr.New(func(_, args string) { fmt.Fprintln(os.Stdout, args) }, funcr.Options{})) //nolint:errcheck // There is no other place for an error.
}

// cannot returns the report of a run that this machine cannot execute.
func cannot(todo runs.Run, err error) *runs.Report {
	report := todo.Report()
	report.Run.Phase, report.Run.Reason = common.PhaseFailed, common.ReasonInternal
	report.Run.Message = "the Pod cannot carry out runs: " + err.Error()
	report.Blameless = true

	return &report
}
