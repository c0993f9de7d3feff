// Package executor executes a run on this machine, which may be the Pod of the run: it installs the content that the
// inputs require, executes it with the runner, and reports.
package executor

import (
	"context"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// Local is the backend that executes runs on this machine.
type Local struct {
	// Ensure installs the content of a request. The set stays installed until release is called.
	Ensure func(ctx context.Context, r content.Request) (set content.Set, release func(), err error)
	// Run runs installed content. A failed play is a result; an error is about the provider or its machine. With an error,
	// Untouched of the result is set.
	Run func(ctx context.Context, r runner.Spec, w events.Watch) (runner.Result, error)
	// Kernel has the features that confine runs, for their reports.
	Kernel sandbox.Kernel
}

// Execute executes a run. A run that the predecessor has begun has ended with the predecessor.
func (l Local) Execute(ctx context.Context, run runs.Run, w runs.Watch) (r runs.Report) {
	r = run.Report()
	if run.Begun != nil {
		return r.Interrupted(time.Now())
	}

	r.Run.StartTime = now()

	defer func() { r.Run.CurrentTask, r.Run.CompletionTime = "", now() }()

	// A panic in one run must not end other runs.
	defer redact.Panic(func() {
		r.Untouched = r.Content == nil
		fault(&r, errors.New("the provider has made a mistake; its log has a stack trace"))
	})

	set, release, ok := l.install(ctx, run, &r, w.Progress)
	if !ok {
		return r
	}

	defer release()

	r.Content = set.DeepCopy()
	r.Run.InputsDigest = run.Digest(set)

	if run.Approved && !approved(run, set) {
		failed(&r, runs.ReasonContentChanged,
			errors.New("the content is not the one that was checked and approved: it is checked again"))
		r.Blameless = true

		return r
	}

	r.Run.Phase = common.PhaseRunning
	r.Run.Confinement = &common.RunConfinement{Landlock: int64(l.Kernel.Landlock), Seccomp: l.Kernel.Seccomp}
	w.Progress(r)

	run.Content = set

	result, err := l.Run(ctx, run.Spec, events.Watch{Display: w.Display, Progress: func(s events.Summary) {
		summarize(&r, s)
		w.Progress(r)
	}})
	if err != nil {
		r.Untouched = result.Untouched
		fault(&r, err)
		forbidden(&r, err)

		return r
	}

	ended(&r, run.Spec, result)

	return r
}

// Install installs the content of a run that another process executes. The set is not released. If ok is false, the
// installation has failed, and the report is the last one of the run.
func (l Local) Install(ctx context.Context, run runs.Run) (set content.Set, r runs.Report, ok bool) {
	r = run.Report()
	r.Run.StartTime = now()
	set, _, ok = l.install(ctx, run, &r, func(runs.Report) {})
	r.Run.CompletionTime = now()

	return set, r, ok
}

// install installs the content of a run. If it returns false, the installation has failed, and the report has the
// error.
func (l Local) install(ctx context.Context, run runs.Run, r *runs.Report,
	progress func(runs.Report),
) (content.Set, func(), bool) {
	if run.Missing != nil {
		notInstalled(ctx, r, run, run.Missing)
		return content.Set{}, nil, false
	}

	request, err := run.Requires()
	if err != nil {
		failed(r, common.ReasonInstallFailed, err)
		return content.Set{}, nil, false
	}

	if !request.Requirements.Empty() {
		r.Run.Phase = common.PhaseInstalling
		progress(*r)
	}

	set, release, err := l.Ensure(ctx, request)
	if err != nil {
		notInstalled(ctx, r, run, err)
		return content.Set{}, nil, false
	}

	return set, release, true
}

// approved is true if a set is the content at the decision on the run, which the digest of the approval covers. The
// status of the last run is not used, since other clients may have edited it.
func approved(run runs.Run, set content.Set) bool {
	was := run.Content
	// The digests need no key, since they are only compared here.
	checked, err := run.Inputs.Digest(nil, was.Collections, was.Roles, was.Project)
	now, _ := run.Inputs.Digest(nil, set.Collections, set.Roles, set.Project)

	return err == nil && checked == now
}

// notInstalled reports the error of an installation, and whether the provider has caused it.
func notInstalled(ctx context.Context, r *runs.Report, run runs.Run, err error) {
	failed(r, common.ReasonInstallFailed, err)

	again := &content.BackoffError{}

	switch {
	case ctx.Err() != nil:
		r.Run.Phase, r.Run.Reason = common.PhaseCanceled, runner.ReasonCanceled
		r.Run.Message = "canceled while the content was being installed"
	case content.IsOwn(err):
		fault(r, err)
	case !errors.As(err, &again) && errors.Is(err, context.DeadlineExceeded):
		r.Run.Phase, r.Run.Message = common.PhaseTimedOut, "installing the content took longer than "+run.Limit()
	}

	if errors.As(err, &again) {
		r.Blameless, r.NotBefore = true, again.Until
	}
}

// fault reports an error of the provider, or of its machine.
func fault(r *runs.Report, err error) {
	failed(r, common.ReasonInternal, err)
	r.Blameless = true
}

// forbidden sets the reason of a run that lacks rights for its access to the API server.
func forbidden(r *runs.Report, err error) {
	if rights.Lacks(err) {
		r.Run.Reason, r.NotBefore = common.ReasonForbidden, time.Now().Add(runs.AccessAgain)
	}
}

func failed(r *runs.Report, reason string, err error) {
	r.Run.Phase, r.Run.Reason, r.Run.Message = common.PhaseFailed, reason, err.Error()
}

// ended reports the result of the runner.
func ended(r *runs.Report, run runner.Spec, result runner.Result) {
	summarize(r, result.Summary)
	r.Untouched = result.Untouched
	r.Run.Phase, r.Run.Reason, r.Run.Message = result.Phase, result.Reason, result.Message
	r.ConnectionDetails = result.ConnectionDetails
	r.Output = result.Output
	r.Withheld = result.Summary.Withheld
	r.Dependents, r.Kinds = result.Dependents, nil

	r.IgnoresState = result.IgnoresState

	switch {
	case result.Phase != common.PhaseSucceeded:
	case run.State == common.StateAbsent && result.IgnoresState:
		r.Run.Reason = runs.ReasonStateIgnored
		r.Run.Message = "nothing was run: " + common.IgnoresState(run.Inputs.Parameters.StateVariable)
	case run.Mode == common.ModeCheck && result.Summary.Ran == 0:
		r.Run.Reason, r.Run.Message = runs.ReasonNotCheckable, "every task was skipped in check mode"
	}

	if len(result.Summary.Outputs) > 0 {
		r.Outputs = &apiextensionsv1.JSON{Raw: result.Summary.Outputs}
	}
}

// summarize reports the events so far.
func summarize(r *runs.Report, s events.Summary) {
	r.Run.Versions = s.Versions
	r.Run.Hosts = &s.Totals
	r.Run.CurrentTask, r.Run.Tasks, r.Behind = s.Task, s.Tasks, s.Behind
	r.Untouched = !s.Started
	r.Run.Failures = s.Failures
	r.Changed = s.Changed
	r.Reported = s.Report
	r.Kinds = s.Kinds
	r.Requeue = s.Requeue
	r.Tail = s.Tail
}

// now returns the present time in seconds, the precision of the API server.
func now() *metav1.Time { return new(metav1.Now().Rfc3339Copy()) }
