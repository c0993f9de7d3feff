package executor

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// An Installer installs the content that inputs require, or finds it installed.
// The set stays installed until it is released.
type Installer interface {
	// Installed says by which digest what is requested is known, and whether there is
	// nothing to install for it.
	Installed(r content.Request) (digest string, ok bool, err error)
	// Ensure that it is installed.
	Ensure(ctx context.Context, r content.Request) (set content.Set, release func(), err error)
}

// A Runner executes content that is installed. The error is about the provider
// or its machine; a play that failed is a result. Also with an error the result
// says whether it is certain that no task was carried out.
type Runner interface {
	Run(ctx context.Context, r runner.Run, w events.Watch) (runner.Result, error)
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

			r.Untouched = r.Content == nil
			r = x.end(fault(r, "the provider has made a mistake; its log has a stack trace"))
		}
	}()

	set, release, ok := x.install(ctx, j, &r, progress)
	if !ok {
		return x.end(r)
	}

	defer release()

	r.Run.Phase = common.PhaseRunning
	progress(r)

	result, err := x.runner.Run(ctx, run(j, set), events.Watch{
		Progress: func(s events.Summary) {
			summarise(&r, s)
			progress(r)
		},
		Task: w.Task,
	})
	if err != nil {
		r.Untouched = result.Untouched

		return x.end(fault(r, err.Error()))
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

// Needs of a job: its content. What is wrong with the inputs is said by Execute.
func (x *Executor) Needs(j Job) Needs {
	request, err := requestOf(j)
	if err != nil {
		return Needs{}
	}

	digest, ok, err := x.installer.Installed(request)
	if ok || err != nil {
		return Needs{}
	}

	n := Needs{Key: digest + " " + j.Timeout.String(), Get: func(ctx context.Context) error {
		_, release, err := x.installer.Ensure(ctx, request)
		if err == nil {
			release()
		}

		return err
	}}

	// Who asks again wants it to be tried again.
	if request.Asked {
		n.Key += " " + j.Request
	}

	return n
}

// requestOf a job, which has nothing of its inputs but what is for an installation.
func requestOf(j Job) (content.Request, error) {
	request, err := content.NewRequest(j.Inputs)
	secrets := j.Inputs.InstallSecrets()
	redactor := sync.OnceValue(func() redact.Redactor { return redact.New(secrets...) })
	request.Redact = func(s string) string { return redactor().String(s) }
	request.Known = j.Before.Content
	request.Timeout = j.Timeout
	request.Asked = j.Trigger == common.TriggerRequested
	request.Tenant = j.Object.Tenant()

	return request, err
}

// install the content of a job.
func (x *Executor) install(ctx context.Context, j Job, r *Report, progress func(Report)) (content.Set, func(), bool) {
	if j.Missing != nil {
		*r = notInstalled(ctx, j, *r, j.Missing)
		return content.Set{}, nil, false
	}

	request, err := requestOf(j)
	if err != nil {
		r.Run.Phase, r.Run.Reason, r.Run.Message = common.PhaseFailed, ReasonInstallFailed, err.Error()
		return content.Set{}, nil, false
	}

	if !request.Requirements.Empty() {
		r.Run.Phase = common.PhaseInstalling
		progress(*r)
	}

	set, release, err := x.installer.Ensure(ctx, request)
	if err != nil {
		*r = notInstalled(ctx, j, *r, err)
		return content.Set{}, nil, false
	}

	r.Run.InputsDigest = j.Digest(set)
	r.Content = set.Status()

	return set, release, true
}

// notInstalled says why there is no content, and whose fault that is.
func notInstalled(ctx context.Context, j Job, r Report, err error) Report {
	r.Run.Phase, r.Run.Reason, r.Run.Message = common.PhaseFailed, ReasonInstallFailed, err.Error()

	again := &content.BackoffError{}

	switch {
	case ctx.Err() != nil:
		r.Run.Phase, r.Run.Reason, r.Run.Message = common.PhaseCanceled, runner.ReasonCanceled, "canceled while the content was being installed"
	case content.IsOwn(err):
		r = fault(r, err.Error())
	case !errors.As(err, &again) && errors.Is(err, context.DeadlineExceeded):
		r.Run.Phase, r.Run.Message = common.PhaseTimedOut, "installing the content took longer than "+run(j, content.Set{}).Limit()
	}

	if errors.As(err, &again) {
		r.Blameless, r.NotBefore = true, again.Until
	}

	return r
}

// fault of the provider, or of its machine.
func fault(r Report, message string) Report {
	r.Run.Phase, r.Run.Reason, r.Run.Message = common.PhaseFailed, ReasonInternal, message
	r.Blameless = true

	return r
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
func summarise(r *Report, s events.Summary) {
	totals := s.Totals
	r.Run.Hosts = &totals
	r.Run.CurrentTask = s.Task
	r.Untouched = !s.Started
	r.Run.Failures = s.Failures
	r.Changed = s.Changed
	r.Reported = s.Report
}
