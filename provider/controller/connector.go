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
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/operation"
)

// A Resolver resolves an AnsibleRun to the inputs of its runs.
type Resolver interface {
	Resolve(ctx context.Context, run common.AnsibleRun) (inputs.Inputs, error)
}

// A Tracker records that an AnsibleRun uses its configuration.
type Tracker interface {
	Track(ctx context.Context, run common.AnsibleRun) error
}

// A Pool carries out jobs in the background, never two of one object. It
// remembers the report of each until it is told to forget it. What may change
// something begins once it was noted on the object.
type Pool interface {
	Queue

	Report(uid types.UID) (executor.Report, bool)
	Forget(uid types.UID, runID string)
	Abandon(uid types.UID)
	Noted(uid types.UID, runID string)
}

// A Queue of objects that wait for a place to run. One that was acquired is kept for
// a while, until a job is submitted to it. An object that waits can be withdrawn, one
// that waits or runs can be canceled. When it is stopping nobody is given a place.
type Queue interface {
	Acquire(j executor.Job, wake func()) bool
	Submit(j executor.Job) bool
	Withdraw(uid types.UID)
	Cancel(uid types.UID)
	Stopping() bool
}

// A RunObserver is told of runs that were interrupted, whose end no executor
// reports.
type RunObserver interface {
	Ended(j executor.Job, r executor.Report, took time.Duration)
}

// An OutputStore has the output of the last run of each object, for users to read.
type OutputStore interface {
	Save(ctx context.Context, run common.AnsibleRun, kind schema.GroupVersionKind, r executor.Report) (*common.KeptOutput, error)
	Delete(ctx context.Context, run common.AnsibleRun, kind schema.GroupVersionKind) error
}

type connector struct {
	kind     schema.GroupVersionKind
	kube     client.Writer
	resolver Resolver
	tracker  Tracker
	pool     Pool
	observer RunObserver
	outputs  OutputStore
	contents Contents
	recorder event.Recorder
	secrets  secrets
	key      []byte
	timeouts executor.Timeouts
	schedule *schedule
	wake     func(types.NamespacedName)
	now      func() time.Time
	newID    func() string
}

// Connect reads what the run depends on. No mistake makes it fail: whether one in
// the inputs matters depends on what is to be done, and a run in progress is
// reported in any case. An object that is to be settled has changed since that was
// looked at.
func (c *connector) Connect(ctx context.Context, run common.AnsibleRun) (managed.TypedExternalClient[common.AnsibleRun], error) {
	if operation.Pending(run) {
		return nil, kerrors.NewConflict(schema.GroupResource{Group: c.kind.Group, Resource: c.kind.Kind}, run.GetName(), errors.New("an Operation has applied it"))
	}

	e := &external{connector: c, digestKey: inputs.ObjectKey(c.key, run.GetUID())}

	// What a deleted object refers to may be gone already. It is not needed
	// before a run is to be started.
	if !meta.WasDeleted(run) {
		e.inputs, e.request, e.err = c.read(ctx, run)
	}

	return e, nil
}

// read the inputs and the content that they require, and note that the
// configuration is in use.
func (c *connector) read(ctx context.Context, run common.AnsibleRun) (inputs.Inputs, content.Request, error) {
	if err := c.tracker.Track(ctx, run); err != nil {
		return inputs.Inputs{}, content.Request{}, err
	}

	in, err := c.resolver.Resolve(ctx, run)
	if err != nil {
		return inputs.Inputs{}, content.Request{}, err
	}

	// Requirements that nothing can be installed from are better reported now
	// than by a run.
	r, err := content.NewRequest(in)

	return in, r, err
}
