// Package executor carries out one run on this machine: it installs the content that the inputs require, has the runner
// execute it, and reports. In the Pod of a run it does the same.
package executor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// A Job is what backends know of a run.
type Job struct {
	// Spec of the run that the runner executes. Its content is set once that is installed.
	runner.Spec

	// Kind of the object.
	Kind schema.GroupVersionKind
	// Request is the token of crossplane.io/reconcile-requested-at that the run
	// answers; empty when there is none.
	Request string
	// Before is what was known of the object when the run was decided on.
	Before runs.Before
	// DigestKey is the key of the digests of the object's inputs.
	DigestKey []byte
	// Known is the content that the requirements are known to resolve to.
	Known content.Set
	// Missing is why the run's needs could not be met; nil when they were.
	Missing error
	// Begun is the run, as the status shows it, that a former provider has begun; nil for a new run.
	Begun *common.Run
}

// JobOf a run that has work.
func JobOf(r runs.Run) Job {
	j, _ := r.Work.(Job)
	j.ID, j.Missing = r.ID, r.Missing

	if r.Begun {
		j.Begun = r.DeepCopy()
	}

	return j
}

// Run that the job is the work of.
func (j Job) Run() runs.Run {
	r := runs.Run{
		Run: common.Run{
			ID: j.ID, Mode: j.Mode, State: j.State, Trigger: j.Trigger, Phase: common.PhaseQueued,
			InputsDigest: j.Digest(j.Known), Pod: j.Reference(),
		},
		Object: ObjectOf(j.Object, j.Kind), RetryLimit: j.Inputs.Parameters.RetryLimit, Attempt: j.Attempt,
		Request: j.Request, Before: j.Before, Work: j,
	}

	if j.Inputs.Approval && j.Mode == common.ModeCheck {
		r.MetadataDigest = j.Object.Digest(j.DigestKey)
	}

	return r
}

// ObjectOf a kind.
func ObjectOf(o runner.Object, kind schema.GroupVersionKind) runs.Object {
	return runs.Object{
		Kind: kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID, Generation: o.Generation, Tenant: o.Tenant(),
	}
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

// Reference of the job's Pod; nil when it has none.
func (j Job) Reference() *common.PodReference {
	if j.Inputs.Execution.Place != common.PlacePod {
		return nil
	}

	return &common.PodReference{Namespace: j.Inputs.Execution.Namespace, Name: "ansiblerun-" + j.ID}
}
