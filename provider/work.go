package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr/funcr"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/kubeapi"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pods"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
)

// terminationLog is where Kubernetes looks for the reason why a container has ended.
const terminationLog = "/dev/termination-log"

// workCommand carries out the run of a Pod. The provider makes the Pod, and reads its log.
type workCommand struct {
	execution

	ContentTTL     time.Duration `default:"1h" help:"How long content that is not pinned serves before it is resolved again; 0 means for ever."`
	Payload        string        `help:"Directory with the inputs of the run."                 required:""`
	ServiceAccount bool          `help:"Let the run read the service account of the Pod."`
	Content        string        `help:"Directory for content, which only the container that installs it may write."`
	Install        bool          `help:"Only install the content, for the container of the run."`
}

// Run what the payload says.
func (c *workCommand) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	err := c.work(ctx)
	if err != nil {
		_ = os.WriteFile(terminationLog, []byte(err.Error()), 0o600) // The log of the container has it, too.
	}

	return err
}

func (c *workCommand) work(ctx context.Context) error {
	p, err := pods.ReadPayload(os.DirFS(c.Payload))
	if err != nil {
		return err
	}

	j := executor.Job{Spec: p.Spec, Request: p.Request, Before: p.Before, Known: p.Before.Content}
	j.Inputs.Grant.ServiceAccount = c.ServiceAccount

	if c.Install {
		return c.note(c.install(ctx, j, p.ContentKey))
	}

	if j.Inputs.Kubernetes != nil {
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

	r := &reporter{w: w}

	return r.end(c.carryOut(ctx, j, r))
}

// A displayedError is one that the log of the Pod shows.
type displayedError struct{ error }

// An installation is what one container of a Pod has to say to the next one.
type installation struct {
	// Set that is installed.
	Set content.Set
	// Failed is the report of a run whose content could not be installed; nil for any other.
	Failed *executor.Report
}

// notes is the file of the installation.
func (c *workCommand) notes() string { return filepath.Join(c.StateDir, "installation.json") }

// note an installation, for the container of the run.
func (c *workCommand) note(i installation) error {
	text, err := json.Marshal(i) //nolint:musttag // The same program reads it.
	if err == nil {
		err = os.WriteFile(c.notes(), text, 0o600)
	}

	return errors.Wrap(err, "cannot note what was installed")
}

// noted is the installation; the zero value where nothing was to be installed.
func (c *workCommand) noted() (i installation, err error) {
	text, err := os.ReadFile(c.notes())
	if errors.Is(err, fs.ErrNotExist) {
		return i, nil
	}

	if err == nil {
		err = json.Unmarshal(text, &i) //nolint:musttag // The same program has written it.
	}

	return i, errors.Wrap(err, "cannot tell what was installed")
}

// Installed says that there is nothing to install.
func (i installation) Installed(content.Request) (string, bool) { return i.Set.Digest, true }

// Ensure returns the set that is installed.
func (i installation) Ensure(context.Context, content.Request) (content.Set, func(), error) {
	return i.Set, func() {}, nil
}

// install the content of the run, in a container of its own: that of the run can then only read
// it. Content that is not pinned is resolved again if it is due, as long as the run has time.
func (c *workCommand) install(ctx context.Context, j executor.Job, key []byte) installation {
	log := c.prepareOwn()

	at, err := c.prepare(ctx, log)
	if err != nil {
		return installation{Failed: cannot(j, err)}
	}

	store, err := c.store(ctx, at, content.Config{
		// Users of other images cannot read what this one installs, which has another digest anyway.
		Dir:     filepath.Join(c.Content, strconv.Itoa(os.Geteuid())),
		Private: filepath.Join(c.StateDir, "installs"),
		Lease:   cmp.Or(pods.Deadline(c.MaxTimeout), longestRun),
		Key:     key,
		TTL:     c.ContentTTL,
	})
	if err != nil {
		return installation{Failed: cannot(j, err)}
	}

	t := newTerminal(os.Stdout, os.Stdout, false, false)

	resolving, stop := context.WithTimeout(ctx, cmp.Or(j.Timeout, longestRun))
	_ = t.refresh(resolving, store, j.Inputs) // A mistake in the requirements is for the executor to report.

	stop()

	set, report, ok := executor.NewLocal(store, nil).Install(ctx, j)
	if !ok {
		t.printf("%s", report.Run.Message)

		return installation{Failed: c.explained(report)}
	}

	t.content(set.Status())

	return installation{Set: set}
}

// longestRun is how long a run without a timeout may take.
const longestRun = 365 * 24 * time.Hour

// carryOut the run. That this machine cannot do it is reported, too.
func (c *workCommand) carryOut(ctx context.Context, j executor.Job, r *reporter) executor.Report {
	i, err := c.noted()

	switch {
	case err != nil:
		return *cannot(j, err)
	case i.Failed != nil:
		return *i.Failed
	}

	log := c.prepareOwn()

	at, err := c.prepare(ctx, log)
	if err != nil {
		return *cannot(j, err)
	}

	run, err := c.runner(ctx, at, log)
	if err != nil {
		return *cannot(j, err)
	}

	return *c.explained(
		executor.NewLocal(i, run).On(at.policy.Kernel).Execute(ctx, j, executor.Watch{Progress: r.progress, Task: r.task, Display: r.display}))
}

// prepareOwn prepares what a Pod has for one run alone, and returns a log.
func (c *workCommand) prepareOwn() logging.Logger {
	c.Sharing, c.InPod = 1, true
	if c.ServiceAccount {
		c.Identities = identities(os.DirFS(podSecrets))
	}

	// Directories that the image has may be read-only.
	if home := os.Getenv("HOME"); home != "" {
		_ = os.MkdirAll(home, 0o700) // Ansible says what is wrong with it.
	}

	return logging.NewLogrLogger(funcr.New(func(_, args string) { fmt.Fprintln(os.Stdout, args) }, funcr.Options{})) //nolint:errcheck // There is nobody else to tell.
}

// cannot returns the report of a run that this machine cannot carry out.
func cannot(j executor.Job, err error) *executor.Report {
	report := executor.NewReport(j)
	report.Run.Phase, report.Run.Reason = common.PhaseFailed, executor.ReasonInternal
	report.Run.Message = "the Pod cannot carry out runs: " + err.Error()
	report.Blameless = true

	return &report
}

// explained is a report that says so when the run needed too much memory.
func (c *workCommand) explained(report executor.Report) *executor.Report {
	if report.Run.Phase == common.PhaseFailed && oomKilled(os.DirFS("/sys/fs/cgroup")) {
		report.Run.Reason = runner.ReasonOutOfMemory
		report.Run.Message = "the kernel ended a process of the run, since its container needed more memory than its " +
			"limit; raise spec.execution.resources: " + report.Run.Message
	}

	return &report
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

// reportEvery is the time between two reports of a Pod, at least. A new phase, and the end, are
// reported at once.
const reportEvery = 500 * time.Millisecond

// A reporter writes the reports of a run to the log of its Pod, and what a terminal would show.
type reporter struct {
	mu sync.Mutex
	w  *sealed.Writer
	// next report, which timer writes; nil when there is none.
	next  *executor.Report
	tasks []events.TaskResult
	timer *time.Timer
	phase common.RunPhase
}

func (r *reporter) progress(report executor.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.next = &report

	switch {
	case report.Run.Phase != r.phase:
		r.phase = report.Run.Phase
		r.flush()
	case r.timer == nil:
		r.timer = time.AfterFunc(reportEvery, func() {
			r.mu.Lock()
			defer r.mu.Unlock()

			r.flush()
		})
	}
}

func (r *reporter) task(t events.TaskResult) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.tasks = append(r.tasks, t)
}

// display text in the log of the Pod.
func (r *reporter) display(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()

	_, _ = io.WriteString(os.Stdout, strings.TrimRight(text, "\n")+"\n")
}

// flush the next report. The reporter is locked.
func (r *reporter) flush() {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}

	if r.next == nil {
		return
	}

	// The last report says all that is in one that cannot be written.
	_ = r.w.Write(sealed.Frame{Report: *r.next, Tasks: r.tasks})
	r.next, r.tasks = nil, nil
}

// end with the last report. The error says how the run failed. It is displayed before: a node puts the
// lines of the standard error between the pieces of a long line, which the last report may be.
func (r *reporter) end(report executor.Report) error {
	var failed error

	if n := report.Run; n.Phase != common.PhaseSucceeded {
		failed = &displayedError{errors.Errorf("%s: %s: %s", n.Phase, n.Reason, n.Message)}
		r.display(failed.Error())
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	if r.timer != nil {
		r.timer.Stop()
	}

	r.next = nil

	return cmp.Or(r.w.Write(sealed.Frame{Report: report, Tasks: r.tasks, Final: true}), failed)
}

// copyCommand copies this program, for Pods with an image that does not have it.
type copyCommand struct {
	To string `arg:"" help:"Path of the copy."`
}

// Run the copy.
func (c *copyCommand) Run() error {
	self, err := os.Executable()
	if err != nil {
		return errors.Wrap(err, "cannot find this program")
	}

	from, err := os.Open(filepath.Clean(self))
	if err != nil {
		return errors.Wrap(err, "cannot read this program")
	}
	defer from.Close() //nolint:errcheck // It is only read.

	dir := filepath.Dir(c.To)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return errors.Wrap(err, "cannot make the directory of the copy")
	}

	to, err := os.OpenFile(filepath.Clean(c.To), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o700) //nolint:gosec // It is a program.
	if err != nil {
		return errors.Wrap(err, "cannot make the copy")
	}

	if _, err := io.Copy(to, from); err != nil {
		return errors.Wrap(err, "cannot copy this program")
	}

	// The image of the run has another user than the provider's, whose umask keeps everybody out.
	for _, path := range []string{dir, c.To} {
		if err := os.Chmod(path, 0o755); err != nil { //nolint:gosec // See above.
			return errors.Wrap(err, "cannot let others execute the copy")
		}
	}

	return errors.Wrap(to.Close(), "cannot copy this program")
}
