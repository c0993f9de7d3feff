package ansiblerun

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
)

// newsPriority is that of objects whose run, or whose turn, has come to something.
// What users do has priority 0, and looking at an object again without any news
// has the least.
const newsPriority = 100

// A limited reconciler reconciles no more often than a limiter allows. It waits in
// the limiter: requests that were sent back to the queue for as long as the limiter
// asks for would have it ask all others to wait longer, however urgent they are.
type limited struct {
	reconcile.Reconciler

	name    string
	limiter ratelimiter.RateLimiter
	// direct is true when there is no time to wait.
	direct func() bool
}

// Reconcile an object when the limiter allows it.
func (l limited) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	item := l.name + req.String()

	if !l.direct() {
		select {
		case <-time.After(l.limiter.When(item)):
		case <-ctx.Done():
			return reconcile.Result{}, nil // Nobody is left to reconcile for.
		}
	}

	l.limiter.Forget(item)

	result, err := l.Reconciler.Reconcile(ctx, req)
	result.Priority = new(handler.LowPriority)

	return result, err
}
