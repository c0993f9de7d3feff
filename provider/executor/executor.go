// Package executor carries out one run: it installs the content that the inputs
// require, has the runner execute it, and reports.
//
// The pool calls an Executor with a Job, follows its progress with a Watch, and gets
// a Report. Local is the one that works in this process; package pods has the one that
// gives each run a Pod, in which a Local works.
package executor

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// An Executor carries out jobs.
type Executor interface {
	// Needs of a job: what it waits for before it takes a place of the pool.
	Needs(j Job) Needs
	// Execute a job. The report says how the run ended, errors included. When the context
	// is done, Execute ends all processes of the run and returns soon. When the
	// provider ends, as the watch says, and the job outlives it, Execute leaves the job as it
	// is, and the report is about a run in progress.
	Execute(ctx context.Context, j Job, w Watch) Report
	// Forget a job after its report was recorded.
	Forget(j Job)
}

// Places are an Executor that has one for the jobs of each place.
type Places map[common.Place]Executor

// Needs of a job.
func (p Places) Needs(j Job) Needs { return p[j.Place()].Needs(j) }

// Execute a job.
func (p Places) Execute(ctx context.Context, j Job, w Watch) Report {
	return p[j.Place()].Execute(ctx, j, w)
}

// Forget a job.
func (p Places) Forget(j Job) { p[j.Place()].Forget(j) }

// A Func is an Executor of jobs that need nothing.
type Func func(ctx context.Context, j Job, w Watch) Report

// Needs of a job: nothing.
func (fn Func) Needs(Job) Needs { return Needs{} }

// Execute a job.
func (fn Func) Execute(ctx context.Context, j Job, w Watch) Report { return fn(ctx, j, w) }

// Forget a job: there is nothing to forget.
func (fn Func) Forget(Job) {}

// A Job is a run to carry out.
type Job struct {
	// Spec of the run that the runner executes. Its content is set once that is installed.
	runner.Spec

	// Request is the token of crossplane.io/reconcile-requested-at that the run
	// answers; empty when there is none.
	Request string
	// Policy of the object that the run belongs to.
	Policy common.RunPolicy
	// Kind of the object.
	Kind schema.GroupVersionKind
	// Before is what was known of the object when the job was decided on.
	Before Before
	// Queued is when the object began to wait for a place.
	Queued time.Time
	// DigestKey is the key of the digests of the object's inputs.
	DigestKey []byte
	// Known is the content that the requirements are known to resolve to.
	Known content.Set
	// Missing is why the job's needs could not be met; nil when they were.
	Missing error
	// Begun is the run, as the status shows it, that a former provider has begun: Execute
	// follows it, and starts nothing. It is nil for a new run.
	Begun *common.Run
}

// Digest identifies the inputs together with the content that was resolved for them. It stands
// for the object's spec where the run is to remove what others have made: the inputs may be gone. A check of
// that has the inputs.
func (j Job) Digest(set content.Set) string {
	if j.State == common.StateAbsent && j.Mode == common.ModeApply {
		return inputs.AbsentDigest(j.Object.Generation)
	}

	// A mistake in the inputs would have kept the job from being made.
	digest, _ := j.Inputs.Digest(j.DigestKey, set.Collections, set.Roles, set.Project)

	return digest
}

// Plan identifies what a job is to do, and how, whatever it was started for: a job that waits need not give way to
// another one with the same plan.
func (j Job) Plan() string {
	// Plain values, which are encoded as they were for a Pod.
	text, _ := json.Marshal([]any{j.Mode, j.State, j.Approved, j.Timeout, j.Request, j.Inputs}) //nolint:errchkjson // The same program compares it.
	sum := sha256.Sum256(text)

	return hex.EncodeToString(sum[:])
}

// Approves is true if a set is the content that the job was decided on with, which the digest of an approval stands
// for. What the status shows of the last run others may have edited.
func (j Job) Approves(set content.Set) bool {
	was := j.Known
	// The key does not matter: both digests are made here.
	checked, err := j.Inputs.Digest(nil, was.Collections, was.Roles, was.Project)
	now, _ := j.Inputs.Digest(nil, set.Collections, set.Roles, set.Project)

	return err == nil && checked == now
}

// Place where the job is carried out.
func (j Job) Place() common.Place {
	return cmp.Or(j.Inputs.Execution.Place, common.PlaceProvider)
}

// Reference of the job's Pod; nil when it has none.
func (j Job) Reference() *common.PodReference {
	if j.Place() != common.PlacePod {
		return nil
	}

	return &common.PodReference{Namespace: j.Inputs.Execution.Namespace, Name: "ansiblerun-" + j.ID}
}

// WithoutInputs is what is needed of a job that is over. The inputs hold secrets.
func (j Job) WithoutInputs() Job {
	return Job{Spec: runner.Spec{ID: j.ID, Object: j.Object, Inputs: inputs.Inputs{Execution: j.Inputs.Execution}}}
}

// UID of the object that the job belongs to.
func (j Job) UID() types.UID { return j.Object.UID }

// Needs of a job are met before it takes a place of the pool. A job needs its content to be
// installed.
type Needs struct {
	// Key of the needs: jobs with the same needs have the same key.
	Key string
	// Get meets the needs and returns when they are met; nil when nothing is needed.
	Get func(context.Context) error
}

// A Class of jobs, in the order in which they are served.
type Class int

const (
	// Urgent jobs answer a change or a request.
	Urgent Class = iota
	// Retry is a job after an attempt that failed. It waits behind urgent ones, which may
	// succeed.
	Retry
	// Periodic jobs look for drift. No user waits for them.
	Periodic
	// Classes is the number of classes.
	Classes
)

// Class of the job.
func (j Job) Class() Class {
	switch j.Trigger {
	case common.TriggerDrift:
		return Periodic
	case common.TriggerRetry:
		return Retry
	case common.TriggerDeleted:
		if j.Attempt > 1 {
			return Retry
		}
	case common.TriggerCreated, common.TriggerChanged, common.TriggerRequested, common.TriggerDependents,
		common.TriggerPreview:
	}

	return Urgent
}

// Before is what was known of an object before a run.
type Before struct {
	// Run is the one before; nil if there was none.
	Run *common.Run
	// Applied is the digest of the inputs that were applied.
	Applied string
	// Drift that was known of.
	Drift *common.Drift
	// Content that the run before used.
	Content content.Set
}

// A Report is what is known of a job.
type Report struct {
	// Run as it is shown in the status.
	Run common.Run
	// Before is the run that was shown before this one; nil if there was none.
	Before *common.Run
	// Attempt for these inputs, from 1.
	Attempt int64
	// Request that the run answers.
	Request string
	// Content that the run uses, once it is installed. Its digest is empty when
	// nothing is required.
	Content *common.Content
	// Untouched is true as long as it is certain that the content has changed
	// nothing.
	Untouched bool
	// Blameless is true when neither content nor inputs made the run fail: the provider
	// or its machine is at fault, or nothing was tried. Such a run is no attempt.
	Blameless bool
	// NotBefore is the earliest time of another run, where nothing was tried in this
	// one; zero otherwise.
	NotBefore time.Time
	// IgnoresState is true when the content is known not to look at the state.
	IgnoresState bool
	// Changed tasks, the first 20.
	Changed []common.DriftTask
	// Generation of the object that the run belongs to.
	Generation int64
	// Reported is what the content has reported so far.
	Reported events.Report
	// Requeue is how long after its end the content wants to run again; 0 if it does not say.
	Requeue time.Duration
	// Outputs that the content published, with what it reported over them, once
	// the run has ended.
	Outputs *apiextensionsv1.JSON
	// Withheld says why other outputs are not among them.
	Withheld common.Withheld
	// ConnectionDetails that the content published.
	ConnectionDetails map[string][]byte
	// Dependents are the kinds of objects that the content has made in the cluster, once the run
	// has ended; nil if they are not watched.
	Dependents []common.DependentKind
	// Kinds of objects that the content has made in the cluster so far, without their state.
	Kinds []common.DependentKind
	// Plan of a job that has taken its place and that has waited for so long that it is decided about anew; empty for
	// others, and once it may have begun.
	Plan string
	// Attaching is true while nothing is known of a run that a former provider has begun,
	// other than what the status shows.
	Attaching bool
	// Output is the end of what a terminal would have shown, redacted and at
	// most events.MaxTail long. It is set once the run has ended, if the job has
	// KeepOutput.
	Output string
}

// A Watch follows a job while it is carried out. Each function may be nil; the
// run waits for it.
type Watch struct {
	// Provider is done when the provider ends: the next one follows a job that outlives it, also
	// one that was canceled and has not ended yet. Nil is never done.
	Provider context.Context //nolint:containedctx // It is not that of the job.
	// Wanted is done when a job that waits, as its report says with its plan, is revoked: it ends if it has not begun,
	// and goes on otherwise. Nil is never done.
	Wanted context.Context //nolint:containedctx // It is not that of the job.
	// Progress is called with what is known so far.
	Progress func(Report)
	// Task is called when a task has ended on a host.
	Task func(events.TaskResult)
	// Display is called with what a terminal would show, redacted.
	Display func(text string)
	// Tail is called once the run is about to begin, with what reads the end of what it has displayed so
	// far, redacted and at most events.MaxTail long.
	Tail func(read func() string)
}

// Waits is true for a job that waits for its needs or for its turn. It has not begun, whatever the status shows, so it
// can be dropped.
func (r *Report) Waits() bool {
	p := r.Run.Phase

	return (p == common.PhaseQueued || p == common.PhaseInstalling) && r.Run.StartTime == nil
}

// Canceled is the report of a job that waits, and that is canceled at a time.
func (r *Report) Canceled(at time.Time) Report {
	c := *r
	c.Run.Phase, c.Run.Reason, c.Run.Message = common.PhaseCanceled, runner.ReasonCanceled, "canceled before it began"
	c.Run.CompletionTime = new(metav1.NewTime(at.Truncate(time.Second)))

	return c
}

// NewReport of a job that waits for its turn.
func NewReport(j Job) Report {
	r := Report{
		Run: common.Run{
			ID:           j.ID,
			Mode:         j.Mode,
			State:        j.State,
			Trigger:      j.Trigger,
			Phase:        common.PhaseQueued,
			InputsDigest: j.Digest(j.Known),
		},
		Before:     j.Before.Run,
		Attempt:    j.Attempt,
		Request:    j.Request,
		Generation: j.Object.Generation,
		Untouched:  true,
	}

	if j.Inputs.Approval && j.Mode == common.ModeCheck {
		r.Run.MetadataDigest = j.Object.Digest(j.DigestKey)
	}

	return r
}
