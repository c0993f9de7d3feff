package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
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
	"github.com/crossplane-ansible/crossplane-ansible/provider/pods"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
)

// terminationLog is where Kubernetes looks for the reason why a container has ended.
const terminationLog = "/dev/termination-log"

// workCommand carries out the run of a Pod. The provider makes the Pod, and reads its log.
type workCommand struct {
	execution

	Payload        string `help:"Directory with the inputs of the run."                 required:""`
	ServiceAccount bool   `help:"Let the run read the service account of the Pod."`
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

	w, err := sealed.NewWriter(os.Stdout, p.Key, p.Spec.ID, p.Pod)
	if err != nil {
		return err
	}

	j := executor.Job{Spec: p.Spec, Request: p.Request, Before: p.Before, Known: p.Before.Content}
	j.Inputs.Grant.ServiceAccount = c.ServiceAccount

	r := &reporter{w: w}
	report := c.carryOut(ctx, j, p.ContentKey, r)

	if err := r.end(report); err != nil {
		return err
	}

	if report.Run.Phase != common.PhaseSucceeded {
		return errors.Errorf("%s: %s: %s", report.Run.Phase, report.Run.Reason, report.Run.Message)
	}

	return nil
}

// carryOut the run. That this machine cannot do it is reported, too.
func (c *workCommand) carryOut(ctx context.Context, j executor.Job, contentKey []byte, r *reporter) executor.Report {
	c.Sharing, c.InPod = 1, true
	if c.ServiceAccount {
		c.Identities = identities(os.DirFS(podSecrets))
	}

	// A mistake in the requirements is for the executor to report.
	request, err := content.NewRequest(j.Inputs)
	c.NoContent = err == nil && request.Requirements.Empty()

	log := logging.NewLogrLogger(funcr.New(func(_, args string) { fmt.Fprintln(os.Stdout, args) }, funcr.Options{})) //nolint:errcheck // There is nobody else to tell.

	local, store, err := c.start(ctx, contentKey, log)
	if err != nil {
		report := executor.NewReport(j)
		report.Run.Phase, report.Run.Reason, report.Run.Message = common.PhaseFailed, executor.ReasonInternal, "the Pod cannot carry out runs: "+err.Error()
		report.Blameless = true

		return report
	}
	defer store.Stop()

	report := local.Execute(ctx, j, executor.Watch{Progress: r.progress, Task: r.task, Display: r.display})
	if report.Run.Phase == common.PhaseFailed && oomKilled(os.DirFS("/sys/fs/cgroup")) {
		report.Run.Reason = runner.ReasonOutOfMemory
		report.Run.Message = "the kernel ended a process of the run, since its container needed more memory than its limit; raise spec.execution.resources: " + report.Run.Message
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

// start what carries out the run. Directories that the image has may be read-only.
func (c *workCommand) start(ctx context.Context, contentKey []byte, log logging.Logger) (*executor.Local, interface{ Stop() }, error) {
	if home := os.Getenv("HOME"); home != "" {
		if err := os.MkdirAll(home, 0o700); err != nil {
			return nil, nil, errors.Wrap(err, "cannot make the home directory")
		}
	}

	return c.executor(ctx, contentKey, log, func(func() int) {}, nil)
}

// reportEvery is the time between two reports of a Pod, at least. A new phase, and the end, are
// reported at once.
const reportEvery = 500 * time.Millisecond

// A reporter writes the reports of a run to the log of its Pod, and what a terminal would show.
type reporter struct {
	mu sync.Mutex
	w  *sealed.Writer
	// next report, which timer has written; nil when there is none.
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

// end with the last report.
func (r *reporter) end(report executor.Report) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.timer != nil {
		r.timer.Stop()
	}

	r.next = nil

	return r.w.Write(sealed.Frame{Report: report, Tasks: r.tasks, Final: true})
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
