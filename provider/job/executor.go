package job

import (
	"context"
	"runtime/debug"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/event"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// An Installer installs the content that inputs require, or finds it installed.
// The set stays installed until it is released.
type Installer interface {
	Ensure(ctx context.Context, r content.Request) (set content.Set, release func(), err error)
}

// A Runner executes content that is installed. The error is about the provider
// or its machine; a play that failed is a result.
type Runner interface {
	Run(ctx context.Context, r runner.Run, w event.Watch) (runner.Result, error)
}

// An Executor carries out jobs.
type Executor struct {
	installer Installer
	runner    Runner
	now       func() time.Time
}

// NewExecutor returns an executor that installs content with i and executes it
// with r.
func NewExecutor(i Installer, r Runner) *Executor {
	return &Executor{installer: i, runner: r, now: time.Now}
}

// Execute a job. It returns soon after the context is done, with nothing of the
// job left running.
func (x *Executor) Execute(ctx context.Context, j Job, w Watch) (r Report) {
	progress := w.Progress
	if progress == nil {
		progress = func(Report) {}
	}

	r = NewReport(j)
	r.Run.StartTime = x.time()

	// A mistake that one job meets must not end all others.
	defer func() {
		if recover() != nil {
			// Without the value of the panic, which may have a secret in it.
			debug.PrintStack()

			r.Run.Phase, r.Run.Reason = common.PhaseFailed, ReasonInternal
			r.Run.Message = "the provider has made a mistake; its log has a stack trace"
			r.Untouched = r.Content == nil
			r = x.end(r)
		}
	}()

	set, release, ok := x.install(ctx, j, &r, progress)
	if !ok {
		return x.end(r)
	}

	defer release()

	r.Run.Phase = common.PhaseRunning
	progress(r)

	result, err := x.runner.Run(ctx, run(j, set), event.Watch{
		Progress: func(s event.Summary) {
			summarise(&r, s)
			progress(r)
		},
		Task: w.Task,
	})
	if err != nil {
		r.Run.Phase, r.Run.Reason, r.Run.Message = common.PhaseFailed, ReasonInternal, err.Error()
		r.Untouched = false

		return x.end(r)
	}

	summarise(&r, result.Summary)
	r.Untouched = result.Untouched
	r.Run.Phase, r.Run.Reason, r.Run.Message = result.Phase, result.Reason, result.Message

	if j.Mode == common.ModeCheck && result.Phase == common.PhaseSucceeded && result.Summary.Ran == 0 {
		r.Run.Reason, r.Run.Message = ReasonNotCheckable, "every task was skipped in check mode"
	}

	r.ConnectionDetails = result.ConnectionDetails
	r.Output = result.Output

	if len(result.Summary.Outputs) > 0 {
		r.Outputs = &apiextensionsv1.JSON{Raw: result.Summary.Outputs}
	}

	return x.end(r)
}

// install the content of a job.
func (x *Executor) install(ctx context.Context, j Job, r *Report, progress func(Report)) (content.Set, func(), bool) {
	ctx, cancel := within(ctx, j.Timeout)
	defer cancel()

	set, release, err := x.ensure(ctx, j, func() {
		r.Run.Phase = common.PhaseInstalling
		progress(*r)
	})

	switch {
	case err == nil:
	case context.Cause(ctx) == context.DeadlineExceeded: //nolint:errorlint // A cause is not wrapped.
		r.Run.Phase, r.Run.Reason = common.PhaseTimedOut, ReasonInstallFailed
		r.Run.Message = "installing the content took longer than " + j.Timeout.String()
	case ctx.Err() != nil:
		r.Run.Phase, r.Run.Reason, r.Run.Message = common.PhaseCanceled, runner.ReasonCanceled, "canceled while the content was being installed"
	default:
		r.Run.Phase, r.Run.Reason, r.Run.Message = common.PhaseFailed, ReasonInstallFailed, err.Error()
	}

	if err != nil {
		return content.Set{}, nil, false
	}

	r.Run.InputsDigest = j.Digest(set)
	r.Content = &common.Content{Digest: set.Digest, Collections: set.Collections, Roles: set.Roles}

	return set, release, true
}

func (x *Executor) ensure(ctx context.Context, j Job, installing func()) (content.Set, func(), error) {
	request, err := content.NewRequest(j.Inputs)
	if err != nil {
		return content.Set{}, nil, err
	}

	if !request.Requirements.Empty() {
		installing()
	}

	request.Redact = redact.New(j.Inputs.InstallSecrets()...).String

	return x.installer.Ensure(ctx, request)
}

func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}

	return context.WithTimeout(ctx, d)
}

func (x *Executor) end(r Report) Report {
	r.Run.CurrentTask = ""
	r.Run.CompletionTime = x.time()

	return r
}

// time as the API server keeps it.
func (x *Executor) time() *metav1.Time {
	t := metav1.NewTime(x.now().Truncate(time.Second))
	return &t
}

func run(j Job, set content.Set) runner.Run {
	return runner.Run{
		ID:         j.ID,
		Mode:       j.Mode,
		State:      j.State,
		Trigger:    j.Trigger,
		Attempt:    j.Attempt,
		Object:     j.Object,
		Inputs:     j.Inputs,
		Content:    set,
		Timeout:    j.Timeout,
		KeepOutput: j.KeepOutput,
	}
}

// summarise events in a report.
func summarise(r *Report, s event.Summary) {
	totals := s.Totals
	r.Run.Hosts = &totals
	r.Run.CurrentTask = s.Task
	r.Untouched = !s.Started
	r.Run.Failures = s.Failures
	r.Changed = s.Changed
	r.Reported = s.Report
}
