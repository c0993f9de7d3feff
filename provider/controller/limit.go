package controller

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
)

// newsPriority is the priority in the queue of objects with news from the pool. Changes by
// users have priority 0, and polls have the lowest.
const newsPriority = 100

// A limited reconciler reconciles no more often than a limiter allows. It waits for the
// limiter itself, unlike crossplane-runtime's, which sends a request back to the queue:
// each such request makes all later ones wait longer, however urgent they are.
type limited struct {
	reconcile.Reconciler

	name    string
	limiter ratelimiter.RateLimiter
	// direct is true when requests must not wait, since the provider is stopping.
	direct func() bool
}

// Reconcile an object when the limiter allows it.
func (l limited) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	item := l.name + req.String()

	if !l.direct() {
		select {
		case <-time.After(l.limiter.When(item)):
		case <-ctx.Done():
			return reconcile.Result{}, nil // The provider ends.
		}
	}

	l.limiter.Forget(item)

	result, err := l.Reconciler.Reconcile(ctx, req)
	result.Priority = new(handler.LowPriority)

	return result, err
}
