// Package runs has the types of runs and of their reports. Package controller makes a Run, package pool queues it, a
// backend executes it, and package lifecycle takes its Report into the status.
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

// A Run is a run to execute. It contains secrets.
type Run struct {
	// Spec is executed by the runner. Before the installation, its content is the known resolution of the requirements.
	runner.Spec

	// Kind of the object.
	Kind schema.GroupVersionKind
	// Policy of the object.
	Policy common.RunPolicy
	// Request is the token of crossplane.io/reconcile-requested-at that the run answers; empty for none.
	Request string
	// Before is the state of the object at the decision on the run.
	Before Before
	// DigestKey is the key of the digests of the object's inputs.
	DigestKey []byte
	// Queued is the time since which the object waits for a place.
	Queued time.Time
	// Missing is the error of the installation of the content; nil if it was installed.
	Missing error
	// Begun is the run in the status that the predecessor has begun. It is followed, and not started. It is nil for a new
	// run.
	Begun *common.Run
}

// Before is the state of an object before a run.
type Before struct {
	// Run is the previous run; nil if there was none.
	Run *common.Run
	// Applied is the digest of the applied inputs.
	Applied string
	// Drift is the known drift.
	Drift *common.Drift
	// Content of the previous run; nil if it required none.
	Content *common.Content
}

// Place returns the place of the run.
func (r Run) Place() common.Place {
	if r.Inputs.Execution.Place == common.PlacePod {
		return common.PlacePod
	}

	return common.PlaceProvider
}

// Pod returns the Pod of the run; nil if it has none.
func (r Run) Pod() *common.PodReference {
	if r.Place() != common.PlacePod {
		return nil
	}

	return &common.PodReference{Namespace: r.Inputs.Execution.Namespace, Name: "ansiblerun-" + r.ID}
}

// Requires returns the request for the content of the run.
func (r Run) Requires() (content.Request, error) {
	request, err := content.NewRequest(r.Inputs)
	request.Timeout, request.Tenant = r.Timeout, r.Object.Tenant()

	if r.Trigger == common.TriggerRequested || r.Trigger == common.TriggerPreview {
		request.Asked = string(r.Trigger) + " " + r.Request // The token may have been removed since.
	}

	return request, err
}

// Report returns the first report of a run: it waits for its turn, or the predecessor has begun it.
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

// Digest returns the digest of the inputs with a resolved content set. For a deletion, it returns the digest of the
// generation, since the inputs may be gone; a check of a deletion has the inputs.
func (r Run) Digest(set content.Set) string {
	if r.State == common.StateAbsent && r.Mode == common.ModeApply {
		return inputs.AbsentDigest(r.Object.Generation)
	}

	// The inputs are valid: without that, there would be no run.
	digest, _ := r.Inputs.Digest(r.DigestKey, set.Collections, set.Roles, set.Project)

	return digest
}

// Plan returns a digest of the effect of a run, independently of its trigger. A waiting run is not replaced by a run
// with the same plan.
func (r Run) Plan() string {
	// The payload of a Pod preserves the encoding of these values.
	text, _ := json.Marshal([]any{r.Mode, r.State, r.Approved, r.Timeout, r.Request, r.Inputs}) //nolint:errchkjson // The same program compares it.
	sum := sha256.Sum256(text)

	return hex.EncodeToString(sum[:])
}

// A Class of runs, in the order in which they are served.
type Class int

const (
	// Urgent runs answer a change or a request.
	Urgent Class = iota
	// Retry runs follow a failed attempt. They wait behind urgent runs, which are more likely to succeed.
	Retry
	// Periodic runs detect drift. No user waits for them.
	Periodic
	// Classes is the number of classes.
	Classes
)

// Class returns the class of the run.
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
