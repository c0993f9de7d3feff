package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/config"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
)

// watchInputs watches the inputs of AnsibleRuns of a kind: configurations, and the metadata of Secrets and ConfigMaps.
func watchInputs(ctx context.Context, mgr ctrl.Manager, k schema.GroupVersionKind, b *builder.Builder) error {
	index, object := mgr.GetFieldIndexer(), newOf[client.Object](mgr.GetScheme(), k, k.Kind)

	if err := index.IndexField(ctx, object, config.FieldConfig, config.IndexConfig); err != nil {
		return errors.Wrapf(err, "cannot index %s by configuration", k.GroupKind())
	}

	if err := index.IndexField(ctx, object, config.FieldReferences, config.IndexReferences); err != nil {
		return errors.Wrapf(err, "cannot index %s by references", k.GroupKind())
	}

	w := watcher{reader: mgr.GetClient(), kind: k}

	for _, c := range config.Kinds() {
		if c.Config.Group != k.Group {
			continue
		}

		o := config.New(c.Config, mgr.GetScheme())
		if err := index.IndexField(ctx, o, config.FieldReferences, config.IndexReferences); err != nil {
			return errors.Wrapf(err, "cannot index %s by references", c.Config.GroupKind())
		}

		w.configs = append(w.configs, c.Config.GroupVersion().WithKind(c.Config.Kind+"List"))

		b.Watches(o, handler.EnqueueRequestsFromMapFunc(w.users),
			builder.WithPredicates(resource.DesiredStateChanged()))
	}

	b.WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(w.referrers(config.KindSecret)))
	b.WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(w.referrers(config.KindConfigMap)))

	return nil
}

// changes returns a handler of changes of objects. It ends the run of an object that is gone, also without a finalizer,
// and forgets the object. It wakes an object if its status has begun or ceased to show a run that is about to begin.
func (c *connector) changes() handler.EventHandler {
	gone := func(o client.Object) {
		c.Pool.Want(pool.Want{UID: o.GetUID(), Gone: true})
		c.schedule.forget(o)
		c.Dependents.Forget(o.GetUID())
		c.Facts.Forget(o.GetUID())
	}

	return handler.Funcs{
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			gone(e.Object)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			was, known := e.ObjectOld.(common.AnsibleRun)
			run, ok := e.ObjectNew.(common.AnsibleRun)

			switch {
			case !ok || !known:
			// An interrupted watch reports an object that was created again as a change of the former one.
			case was.GetUID() != run.GetUID():
				gone(was)
				c.wake(client.ObjectKeyFromObject(run), 0)
			case showsStart(was.Observation().LastRun, run.Observation().LastRun):
				c.wake(client.ObjectKeyFromObject(run), 0)
			}
		},
	}
}

// showsStart is true when a status has begun or ceased to show a run that is about to begin.
func showsStart(before, now *common.Run) bool {
	starts := func(r *common.Run) bool { return r != nil && r.StartTime != nil && r.Phase == common.PhaseQueued }

	return starts(now) && !equality.Semantic.DeepEqual(before, now) ||
		starts(before) && (now == nil || now.ID != before.ID || now.StartTime == nil)
}

// A watcher finds the AnsibleRuns that a change concerns. It reads from the cache and its indexes. It ignores errors,
// which do not occur: the next poll would find the change.
type watcher struct {
	reader client.Client
	kind   schema.GroupVersionKind
	// configs are the kinds of lists of configurations.
	configs []schema.GroupVersionKind
}

// users returns the AnsibleRuns that use a configuration.
func (w watcher) users(ctx context.Context, o client.Object) []reconcile.Request {
	c, ok := o.(common.Config)
	if !ok {
		return nil
	}

	return w.runsBy(ctx, config.FieldConfig, config.NameOf(c))
}

// referrers returns a function that maps an object of a kind to the AnsibleRuns that refer to it, directly or by their
// configurations.
func (w watcher) referrers(kind string) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		ref := config.Reference{Kind: kind, NamespacedName: client.ObjectKeyFromObject(o)}.String()
		rs := w.runsBy(ctx, config.FieldReferences, ref)

		for _, list := range w.configs {
			l, _ := resource.MustCreateObject(list, w.reader.Scheme()).(client.ObjectList)
			if err := w.reader.List(ctx, l, client.MatchingFields{config.FieldReferences: ref},
				client.UnsafeDisableDeepCopy); err != nil {
				continue
			}

			_ = meta.EachListItem(l, func(item runtime.Object) error {
				if c, ok := item.(client.Object); ok {
					rs = append(rs, w.users(ctx, c)...)
				}

				return nil
			})
		}

		return rs
	}
}

func (w watcher) runsBy(ctx context.Context, field, value string) []reconcile.Request {
	l := newOf[resource.ManagedList](w.reader.Scheme(), w.kind, w.kind.Kind+"List")
	if err := w.reader.List(ctx, l, client.MatchingFields{field: value}, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}

	var rs []reconcile.Request
	for _, run := range l.GetItems() {
		rs = append(rs, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(run)})
	}

	return rs
}
