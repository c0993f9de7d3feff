// Package runs has what is said of runs: what is to be carried out, and what is reported. Package controller decides on
// a Run, package pool has it wait for its turn, a Backend carries it out, and package lifecycle takes its Report into
// the status.
package runs

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// A Run is to be carried out.
type Run struct {
	// Run as the status shows it.
	common.Run

	// Object that the run belongs to.
	Object Object
	// Policy of the object.
	Policy common.RunPolicy
	// RetryLimit of the object; nil if it has none.
	RetryLimit *int32
	// Attempt for these inputs, from 1.
	Attempt int64
	// Request is the token of crossplane.io/reconcile-requested-at that the run
	// answers; empty when there is none.
	Request string
	// Before is what was known of the object when the run was decided on.
	Before Before
	// Queued is when the object began to wait for a place.
	Queued time.Time
	// Missing is why the run's needs could not be met; nil when they were.
	Missing error
	// Begun is true for a run that a former provider has begun: it is followed, and nothing is started.
	Begun bool
	// Work is what only backends know of the run. Without it the run is over.
	Work Work
}

// Work of a run, with its inputs. They hold secrets.
type Work interface {
	// Plan identifies what is to be done, and how, whatever it was started for: a run that waits need not give way to
	// another one with the same plan.
	Plan() string
}

// An Object is an AnsibleRun.
type Object struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
	UID             types.UID
	Generation      int64
	// Tenant that it belongs to; empty for none.
	Tenant string
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
	if r.Pod != nil {
		return common.PlacePod
	}

	return common.PlaceProvider
}

// Report of a run that waits for its turn. It has no Pod yet.
func (r Run) Report() Report {
	n := Report{
		Run: *r.DeepCopy(), Before: r.Before.Run, Attempt: r.Attempt, Request: r.Request,
		Generation: r.Object.Generation, Untouched: true,
	}
	n.Run.Pod = nil

	return n
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
