// Package job carries out one run: it installs the content and executes it.
package job

import (
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/event"
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
	// Queued is when the job was submitted.
	Queued time.Time
	// Inputs of the run.
	Inputs inputs.Inputs
	// Digest identifies the inputs together with the content that was resolved
	// for them.
	Digest func(content.Set) string
	// Known is the content that the requirements are known to resolve to.
	Known content.Set
	// Timeout of the execution; 0 means none.
	Timeout time.Duration
	// KeepOutput keeps the end of what the run displays.
	KeepOutput bool
}

// UID of the object that the job belongs to.
func (j Job) UID() types.UID { return j.Object.UID }

// Urgent jobs go before periodic ones and retries: somebody has just asked for
// them. What has failed before has no claim to fail before everybody else.
func (j Job) Urgent() bool {
	switch j.Trigger {
	case common.TriggerDrift, common.TriggerRetry:
		return false
	case common.TriggerDeleted:
		return j.Attempt <= 1
	case common.TriggerCreated, common.TriggerChanged, common.TriggerRequested:
	}

	return true
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
	// Changed tasks, the first 20.
	Changed []common.DriftTask
	// Generation of the object that the run belongs to.
	Generation int64
	// Reported is what the content has reported so far.
	Reported event.Report
	// Outputs that the content published, with what it reported over them, once
	// the run has ended.
	Outputs *apiextensionsv1.JSON
	// ConnectionDetails that the content published.
	ConnectionDetails map[string][]byte
	// Output is the end of what a terminal would have shown, redacted and at
	// most event.MaxTail long. It is there once the run has ended, when the job
	// keeps it.
	Output string
}

// A Watch follows a job while it is carried out. Each function may be nil; the
// run waits for it.
type Watch struct {
	// Progress is called with what is known so far.
	Progress func(Report)
	// Task is called when a task has ended on a host.
	Task func(event.TaskResult)
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
		Attempt:    j.Attempt,
		Request:    j.Request,
		Generation: j.Object.Generation,
		Untouched:  true,
	}
}
