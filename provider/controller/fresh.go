package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
)

const (
	// staleAgain is when an object is looked at again that the cache shows as it was.
	staleAgain = 20 * time.Millisecond
	// staleFor is how long the cache is waited for. An API server that was restored from a backup
	// may never show what was written.
	staleFor = 10 * time.Second
)

// A fresh reconciler puts an object off until the cache shows the status that was written
// last. The API server would refuse what follows from an older one, after all the work.
type fresh struct {
	reconcile.Reconciler

	reader   client.Reader
	schedule *schedule
	// object of the kind that is reconciled.
	object resource.Managed
}

// Reconcile an object as it is.
func (f fresh) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if last, ok := f.schedule.lastWrite(req.NamespacedName); ok {
		o, ok := f.object.DeepCopyObject().(client.Object)
		if ok && time.Now().Before(last.until) && f.reader.Get(ctx, req.NamespacedName, o) == nil &&
			isOlder(o.GetResourceVersion(), last.version) {
			return reconcile.Result{RequeueAfter: staleAgain, Priority: new(newsPriority)}, nil
		}

		f.schedule.saw(req.NamespacedName, last)
	}

	return f.Reconciler.Reconcile(ctx, req)
}

// isOlder is true for a resource version that is known to be older than another one.
func isOlder(version, than string) bool {
	c, err := resourceversion.CompareResourceVersion(version, than)

	return err == nil && c < 0
}
