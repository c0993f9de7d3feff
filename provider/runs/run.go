// Package runs has what is said of runs: what is to be carried out, and what is reported. Package controller decides on
// a Run, package pool has it wait for its turn, a backend carries it out, and package lifecycle takes its Report into
// the status.
package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// A Run is to be carried out. It holds secrets.
type Run struct {
	// Spec that the runner executes. Until its content is installed, it has the one that the requirements are known to
	// resolve to.
	runner.Spec

	// Kind of the object.
	Kind schema.GroupVersionKind
	// Policy of the object.
	Policy common.RunPolicy
	// Request is the token of crossplane.io/reconcile-requested-at that the run answers; empty when there is none.
	Request string
	// Before is what was known of the object when the run was decided on.
	Before Before
	// DigestKey is the key of the digests of the object's inputs.
	DigestKey []byte
	// Queued is when the object began to wait for a place.
	Queued time.Time
	// Missing is why the content of the run could not be installed; nil when it was.
	Missing error
	// Begun is the run, as the status shows it, that a former provider has begun: it is followed, and nothing is started.
	// It is nil for a new run.
	Begun *common.Run
}

// Before is what was known of an object before a run.
type Before struct {
	// Run is the one before; nil if there was none.
	Run *common.Run
	// Applied is the digest of the inputs that were applied.
	Applied string
	// Drift that was known of.
	Drift *common.Drift
	// Content that the run before used; nil if it required none.
	Content *common.Content
}

// Place where the run is carried out.
func (r Run) Place() common.Place {
	if r.Inputs.Execution.Place == common.PlacePod {
		return common.PlacePod
	}

	return common.PlaceProvider
}

// Pod of the run; nil when it has none.
func (r Run) Pod() *common.PodReference {
	if r.Place() != common.PlacePod {
		return nil
	}

	return &common.PodReference{Namespace: r.Inputs.Execution.Namespace, Name: "ansiblerun-" + r.ID}
}

// Requires is the request for the content of the run.
func (r Run) Requires() (content.Request, error) {
	request, err := content.NewRequest(r.Inputs)
	request.Timeout, request.Tenant = r.Timeout, r.Object.Tenant()

	if r.Trigger == common.TriggerRequested || r.Trigger == common.TriggerPreview {
		request.Asked = string(r.Trigger) + " " + r.Request // The request may be gone by now.
	}

	return request, err
}

// Report of a run of which no more is known than that it waits for its turn, or that a former provider has begun it.
func (r Run) Report() Report {
	n := Report{
		Run: common.Run{
			ID: r.ID, Mode: r.Mode, State: r.State, Trigger: r.Trigger, Phase: common.PhaseQueued,
			InputsDigest: r.Digest(r.Content),
		},
		Before: r.Before.Run, Attempt: r.Attempt, Request: r.Request, Generation: r.Object.Generation, Untouched: true,
	}

	if r.Inputs.Approval && r.Mode == common.ModeCheck {
		n.Run.MetadataDigest = r.Object.Digest(r.DigestKey)
	}

	if r.Begun != nil {
		n.Run = *r.Begun.DeepCopy()
	}

	return n
}

// Digest identifies the inputs together with the content that was resolved for them. It stands
// for the object's spec where the run is to remove what others have made: the inputs may be gone. A check of
// that has the inputs.
func (r Run) Digest(set content.Set) string {
	if r.State == common.StateAbsent && r.Mode == common.ModeApply {
		return inputs.AbsentDigest(r.Object.Generation)
	}

	// A mistake in the inputs would have kept the run from being made.
	digest, _ := r.Inputs.Digest(r.DigestKey, set.Collections, set.Roles, set.Project)

	return digest
}

// Plan identifies what a run is to do, and how, whatever it was started for: a run that waits need not give way to
// another one with the same plan.
func (r Run) Plan() string {
	// Plain values, which are encoded as they were for a Pod.
	text, _ := json.Marshal([]any{r.Mode, r.State, r.Approved, r.Timeout, r.Request, r.Inputs}) //nolint:errchkjson // The same program compares it.
	sum := sha256.Sum256(text)

	return hex.EncodeToString(sum[:])
}

// A Class of runs, in the order in which they are served.
type Class int

const (
	// Urgent runs answer a change or a request.
	Urgent Class = iota
	// Retry is a run after an attempt that failed. It waits behind urgent ones, which may
	// succeed.
	Retry
	// Periodic runs look for drift. No user waits for them.
	Periodic
	// Classes is the number of classes.
	Classes
)

// Class of the run.
func (r Run) Class() Class {
	switch r.Trigger {
	case common.TriggerPoll:
		return Periodic
	case common.TriggerRetry:
		return Retry
	case common.TriggerDeleted:
		if r.Attempt > 1 {
			return Retry
		}
	case common.TriggerCreated, common.TriggerChanged, common.TriggerRequested, common.TriggerDependents,
		common.TriggerPreview:
	}

	return Urgent
}
