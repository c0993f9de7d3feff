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
	// PodNamespace is where the configuration of the run puts its Pods.
	PodNamespace(ctx context.Context, run common.AnsibleRun) (string, error)
}

// A Tracker records that an AnsibleRun uses its configuration.
type Tracker interface {
	Track(ctx context.Context, run common.AnsibleRun) error
}

// A Pool carries out runs in the background, never two of one object, see package pool.
type Pool interface {
	Report(uid types.UID) (runs.Report, bool)
	Want(w pool.Want) (r runs.Report, begun bool)
	Follow(r runs.Run, wake func(after time.Duration))
	Recorded(uid types.UID, runID string)
	Stopping() bool
}

// Contents know what requirements resolve to at present.
type Contents interface {
	// Resolution of a request.
	Resolution(r content.Request) content.Resolution
	// Refresh resolves a request again in the background if it is stale, and
	// calls wake when that has ended.
	Refresh(r content.Request, caller types.UID, wake func())
}

// An OutputStore keeps the output of the last run of each object, for users to read.
type OutputStore interface {
	Save(ctx context.Context, run common.AnsibleRun, kind schema.GroupVersionKind,
		r runs.Report) (*common.KeptOutput, error)
	Delete(ctx context.Context, run common.AnsibleRun, kind schema.GroupVersionKind) error
	Reference(run common.AnsibleRun, kind schema.GroupVersionKind) *common.KeptOutput
}

// A connector of one kind of AnsibleRun.
type connector struct {
	Options

	kind schema.GroupVersionKind
	// kube reads what is watched from the cache, and metadata has the names and UIDs of Secrets, maybe not yet those of
	// the newest.
	kube     client.Client
	metadata client.Reader
	recorder event.Recorder
	schedule *schedule
	wake     func(name types.NamespacedName, after time.Duration)
	now      func() time.Time
	newID    func() string
}

// waker returns a function that wakes an object after a while. It may be kept for long, and holds nothing but the name.
func (c *connector) waker(run common.AnsibleRun) func(after time.Duration) {
	name := client.ObjectKeyFromObject(run)

	return func(after time.Duration) { c.wake(name, after) }
}

// Connect reads what the run depends on, and notes that its configuration is in use. A mistake in the inputs is kept
// for Observe, which reports a run in progress in any case, and knows whether inputs are needed. Connect fails
// when an Operation has applied the object since the fresh reconciler looked at it.
func (c *connector) Connect(ctx context.Context,
	run common.AnsibleRun,
) (managed.TypedExternalClient[common.AnsibleRun], error) {
	if operation.Pending(run) {
		return nil, kerrors.NewConflict(schema.GroupResource{Group: c.kind.Group, Resource: c.kind.Kind}, run.GetName(),
			errors.New("an Operation has applied it"))
	}

	e := &external{connector: c, digestKey: inputs.ObjectKey(c.Key, run.GetUID())}

	// The inputs of a deleted object may be gone already. They are not needed before a
	// run is to be started.
	if meta.WasDeleted(run) {
		return e, nil
	}

	if e.err = c.Tracker.Track(ctx, run); e.err == nil {
		e.inputs, e.err = c.Resolver.Resolve(ctx, run)
	}

	// Requirements that nothing can be installed from are better reported now
	// than by a run.
	if e.err == nil {
		e.request, e.err = content.NewRequest(e.inputs)
	}

	return e, nil
}
