package controller

import (
	"context"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/operation"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// A Resolver resolves an AnsibleRun to the inputs of its runs.
type Resolver interface {
	Resolve(ctx context.Context, run common.AnsibleRun) (inputs.Inputs, error)
	// PodNamespace returns the namespace of Pods in the configuration of the run.
	PodNamespace(ctx context.Context, run common.AnsibleRun) (string, error)
}

// A Tracker records that an AnsibleRun uses its configuration.
type Tracker interface {
	Track(ctx context.Context, run common.AnsibleRun) error
}

// A Pool executes runs in the background, one per object, see package pool.
type Pool interface {
	Report(uid types.UID) (runs.Report, bool)
	Want(w pool.Want) (r runs.Report, begun bool)
	Follow(r runs.Run, wake func(after time.Duration))
	Recorded(uid types.UID, runID string)
	Stopping() bool
}

// Contents returns the content sets that requirements resolve to.
type Contents interface {
	// Resolution returns the known resolution of a request.
	Resolution(r content.Request) content.Resolution
	// Refresh resolves a request again in the background if it is stale, and calls wake at the end.
	Refresh(r content.Request, caller types.UID, wake func())
}

// An OutputStore keeps the output of the last run of each object, for users to read.
type OutputStore interface {
	Save(ctx context.Context, run common.AnsibleRun, kind schema.GroupVersionKind,
		r runs.Report) (*common.KeptOutput, error)
	Delete(ctx context.Context, run common.AnsibleRun, kind schema.GroupVersionKind) error
	Reference(run common.AnsibleRun, kind schema.GroupVersionKind) *common.KeptOutput
}

// A connector connects to AnsibleRuns of one kind.
type connector struct {
	Options

	kind schema.GroupVersionKind
	// kube reads watched objects from the cache. metadata has the names and UIDs of Secrets, and may not have the newest
	// ones yet.
	kube     client.Client
	metadata client.Reader
	recorder event.Recorder
	schedule *schedule
	wake     func(name types.NamespacedName, after time.Duration)
	now      func() time.Time
	newID    func() string
}

// waker returns a function that reconciles an object after a time. The function may be kept for a long time: it refers
// only to the name of the object.
func (c *connector) waker(run common.AnsibleRun) func(after time.Duration) {
	name := client.ObjectKeyFromObject(run)

	return func(after time.Duration) { c.wake(name, after) }
}

// Connect resolves the inputs of the object, and records that its configuration is in use. An error in the inputs is
// kept for Observe, which reports a run in progress in any case, and decides whether the inputs are needed. Connect
// returns an error if an Operation has applied the object since the check of the fresh reconciler.
func (c *connector) Connect(ctx context.Context,
	run common.AnsibleRun,
) (managed.TypedExternalClient[common.AnsibleRun], error) {
	if operation.Pending(run) {
		return nil, kerrors.NewConflict(schema.GroupResource{Group: c.kind.Group, Resource: c.kind.Kind}, run.GetName(),
			errors.New("an Operation has applied it"))
	}

	e := &external{connector: c, digestKey: inputs.ObjectKey(c.Key, run.GetUID())}

	// The inputs of a deleted object may be gone. They are needed only to start a run.
	if meta.WasDeleted(run) {
		return e, nil
	}

	if e.err = c.Tracker.Track(ctx, run); e.err == nil {
		e.inputs, e.err = c.Resolver.Resolve(ctx, run)
	}

	// Invalid requirements are reported now, and not by a run.
	if e.err == nil {
		e.request, e.err = content.NewRequest(e.inputs)
	}

	return e, nil
}
