// Package job carries out one run: it installs the content and executes it.
package executor

import (
	"context"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// A Job is a run to carry out.
type Job struct {
	// ID of the run, unique.
	ID string
	// Mode, State and Trigger of the run.
	Mode    common.RunMode
	State   common.RunState
	Trigger common.RunTrigger
	// Attempt for these inputs, from 1.
	Attempt int64
	// Request is the token of crossplane.io/reconcile-requested-at that the run
	// answers; empty when there is none.
	Request string
	// Policy of the object that the run belongs to.
	Policy common.RunPolicy
	// Object that the run belongs to.
	Object runner.Object
	// Kind of the object.
	Kind schema.GroupVersionKind
	// Before is what was known of the object when the job was submitted.
	Before Before
	// Queued is when the object began to wait for a place.
	Queued time.Time
	// Inputs of the run.
	Inputs inputs.Inputs
	// Digest identifies the inputs together with the content that was resolved
	// for them.
	Digest func(content.Set) string
	// Known is the content that the requirements are known to resolve to.
	Known content.Set
	// Missing is why what the job needs could not be had; nil when it could.
	Missing error
	// Timeout of the execution; 0 means none.
	Timeout time.Duration
	// KeepOutput keeps the end of what the run displays.
	KeepOutput bool
}

// UID of the object that the job belongs to.
func (j Job) UID() types.UID { return j.Object.UID }

// Needs of a job are what it has to wait for before it can be carried out.
type Needs struct {
	// Key of what is needed: the same for all jobs that need the same.
	Key string
	// Get what is needed, and return when it is there. Nil when there is nothing to
	// wait for.
	Get func(context.Context) error
}

// A Class of jobs, by who waits for them.
type Class int

const (
	// Urgent jobs were just asked for by somebody.
	Urgent Class = iota
	// Retry of what has failed before: it has no claim to fail before everybody
	// else.
	Retry
	// Periodic jobs, which nobody has asked for.
	Periodic
	// Classes is how many there are.
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
	case common.TriggerCreated, common.TriggerChanged, common.TriggerRequested:
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
	// Blameless is true when how the run ended says nothing about its content and its
	// inputs: the provider, or its machine, is at fault, or nothing was tried.
	Blameless bool
	// NotBefore is when another run has a chance, after one for which nothing was
	// tried; the zero time otherwise.
	NotBefore time.Time
	// Changed tasks, the first 20.
	Changed []common.DriftTask
	// Generation of the object that the run belongs to.
	Generation int64
	// Reported is what the content has reported so far.
	Reported events.Report
	// Outputs that the content published, with what it reported over them, once
	// the run has ended.
	Outputs *apiextensionsv1.JSON
	// ConnectionDetails that the content published.
	ConnectionDetails map[string][]byte
	// Output is the end of what a terminal would have shown, redacted and at
	// most events.MaxTail long. It is there once the run has ended, when the job
	// keeps it.
	Output string
}

// A Watch follows a job while it is carried out. Each function may be nil; the
// run waits for it.
type Watch struct {
	// Progress is called with what is known so far.
	Progress func(Report)
	// Task is called when a task has ended on a host.
	Task func(events.TaskResult)
}

// Waits is true for a job that waits for what it needs or for its turn: nothing is
// noted of it, and nothing happens if it is dropped.
func (r Report) Waits() bool {
	p := r.Run.Phase

	return (p == common.PhaseQueued || p == common.PhaseInstalling) && r.Run.StartTime == nil
}

// NewReport of a job that waits for its turn.
func NewReport(j Job) Report {
	return Report{
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
}
