// Package controller reconciles AnsibleRuns of both groups with the managed resource reconciler of crossplane-runtime.
// A reconcile reads the object and its inputs, decides with package lifecycle, passes the wanted run to the pool, and
// writes the report of the pool into the status. It never waits for a run.
package controller

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/crossplane/crossplane-runtime/v2/pkg/statemetrics"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/config"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/telemetry"
)

// Options of the reconcilers.
type Options struct {
	controller.Options

	// Limit is the rate limiter of reconciles, of all controllers together.
	Limit *rate.Limiter
	// Resolver of inputs.
	Resolver Resolver
	// Lacking returns the missing rights of the provider for runs of a configuration.
	Lacking config.Lacking
	// Tracker of the use of configurations.
	Tracker Tracker
	// Pool executes runs.
	Pool Pool
	// Outputs keeps the output of runs.
	Outputs OutputStore
	// Contents returns the resolutions of requirements.
	Contents Contents
	// Facts has the facts that runs have gathered.
	Facts interface{ Forget(uid types.UID) }
	// Dependents watches objects that runs have made in the cluster.
	Dependents Dependents
	// Key of the digests.
	Key []byte
	// Timeouts of runs.
	Timeouts runs.Timeouts
}

// runKinds returns the kinds of AnsibleRun: one for each group.
func runKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		clusterv1alpha1.SchemeGroupVersion.WithKind(common.KindAnsibleRun),
		namespacedv1alpha1.SchemeGroupVersion.WithKind(common.KindAnsibleRun),
	}
}

// newOf returns a new object, or a list, of a kind in the group of an AnsibleRun.
func newOf[T runtime.Object](s *runtime.Scheme, k schema.GroupVersionKind, kind string) T {
	return resource.MustCreateObject(k.GroupVersion().WithKind(kind), s).(T) //nolint:forcetypeassert // The kinds are registered.
}

// minPollInterval is the shortest poll interval that an object may set.
const minPollInterval = 5 * time.Second

// setup sets up the controller of a kind. Its watches start with the manager and end with the context.
func setup(ctx context.Context, mgr ctrl.Manager, k schema.GroupVersionKind, o Options) error {
	name := managed.ControllerName(k.GroupKind().String())
	q := &queue{}

	c := &connector{
		Options:  o,
		kind:     k,
		kube:     mgr.GetClient(),
		metadata: mgr.GetCache(),
		recorder: telemetry.Deduplicated(event.NewAPIRecorder(mgr.GetEventRecorderFor(name))), //nolint:staticcheck // event.NewAPIRecorder needs this recorder.
		schedule: newSchedule(o.PollInterval, minPollInterval),
		wake:     q.wake,
		now:      time.Now,
		newID:    func() string { return string(uuid.NewUUID()) },
	}

	if err := recordState(mgr, k, o); err != nil {
		return err
	}

	object := newOf[client.Object](mgr.GetScheme(), k, k.Kind)

	b := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(o.ForControllerRuntime()).
		For(object, builder.WithPredicates(resource.DesiredStateChanged())).
		Watches(object, c.changes()).
		WatchesRawSource(source.Func(q.start))

	if err := watchInputs(ctx, mgr, k, b); err != nil {
		return err
	}

	if err := watchApprovals(ctx, mgr, k, b); err != nil {
		return err
	}

	m := statusManager{mgr, c.schedule}
	r := managed.NewReconciler(m, resource.ManagedKind(k), options(m.GetClient(), name, c)...)

	return b.Complete(fresh{connector: c, runtime: r, reader: mgr.GetAPIReader()})
}

func options(kube client.Client, name string, c *connector) []managed.ReconcilerOption {
	return []managed.ReconcilerOption{
		managed.WithTypedExternalConnector[common.AnsibleRun](c),
		managed.WithDeterministicExternalName(true),
		managed.WithCreationGracePeriod(0),
		managed.WithPollInterval(c.PollInterval),
		managed.WithManagementPolicies(),
		managed.WithInitializers(), // External names are not used.
		managed.WithFinalizer(finalizer{resource.NewAPIFinalizer(kube, managed.FinalizerName), c}),
		managed.WithLogger(c.Logger.WithValues("controller", name)),
		managed.WithRecorder(c.recorder),
		managed.WithMetricRecorder(c.MetricOptions.MRMetrics),
	}
}

// recordState records state metrics periodically.
func recordState(mgr ctrl.Manager, k schema.GroupVersionKind, o Options) error {
	list := func() resource.ManagedList { return newOf[resource.ManagedList](mgr.GetScheme(), k, k.Kind+"List") }

	counts := telemetry.NewObjectMetrics(mgr.GetCache(), k.Group, list, mgr.Elected())
	if err := metrics.Registry.Register(counts); err != nil {
		return errors.Wrapf(err, "cannot count %s", k.GroupKind())
	}

	r := statemetrics.NewMRStateRecorder(statusClient{mgr.GetClient(), nil}, o.Logger, o.MetricOptions.MRStateMetrics,
		list(), o.MetricOptions.PollStateMetricInterval)

	return errors.Wrapf(mgr.Add(r), "cannot record the state metrics of %s", k.GroupKind())
}

// A queue adds objects to the work queue of the controller.
type queue struct {
	mu sync.Mutex
	q  priorityqueue.PriorityQueue[reconcile.Request]
}

// start stores the work queue. The controller calls it.
func (q *queue) start(_ context.Context, wq workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	q.mu.Lock()
	defer q.mu.Unlock()

	var ok bool
	if q.q, ok = wq.(priorityqueue.PriorityQueue[reconcile.Request]); !ok {
		return errors.New("the controller has no priority queue")
	}

	return nil
}

// wake adds an object to the work queue after a time, with newsPriority. It does not block.
func (q *queue) wake(name types.NamespacedName, after time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()

	if q.q != nil {
		q.q.AddWithOpts(priorityqueue.AddOpts{Priority: new(newsPriority), After: after},
			reconcile.Request{NamespacedName: name})
	}
}
