package config

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// countAgain is how long a change of a usage waits for others, which are counted together.
const countAgain = time.Second

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// gathered is a handler that delays its requests: those of the same name become one.
type gathered struct{ handler.EventHandler }

func (g gathered) Create(ctx context.Context, e event.CreateEvent, q requests) {
	g.EventHandler.Create(ctx, e, later{q})
}

func (g gathered) Update(ctx context.Context, e event.UpdateEvent, q requests) {
	g.EventHandler.Update(ctx, e, later{q})
}

func (g gathered) Delete(ctx context.Context, e event.DeleteEvent, q requests) {
	g.EventHandler.Delete(ctx, e, later{q})
}

// later is a queue that takes requests after a while.
type later struct{ requests }

func (l later) Add(r reconcile.Request) { l.AddAfter(r, countAgain) }
