package controller

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestLimited has thousands of objects that fail continuously, more often than the limiter
// allows, and counts the reconciles before one of an object with news.
func TestLimited(t *testing.T) {
	const (
		workers = 10
		failing = 8000
	)

	synctest.Test(t, func(t *testing.T) {
		var count, woken atomic.Int64

		news := reconcile.Request{NamespacedName: types.NamespacedName{Name: "news"}}
		heard := make(chan int64, 1)

		r := fresh{
			connector: newConnector(&fakePool{}, func(c *connector) {
				c.kube = fakeKube(t).Build()
				c.Limit = rate.NewLimiter(100, 1000)
			}),
			runtime: reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
				n := count.Add(1)
				if req == news {
					heard <- n - woken.Load()
				}

				return reconcile.Result{RequeueAfter: 5 * time.Second}, nil
			}),
		}

		pq := priorityqueue.New[reconcile.Request]("test", func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = ratelimiter.NewController() })
		q := &queue{}

		needs.OK(t, q.start(t.Context(), pq))

		for i := range failing {
			pq.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: strconv.Itoa(i)}})
		}

		for range workers {
			go func() {
				for {
					req, _, stopped := pq.GetWithPriority()
					if stopped {
						return
					}

					result, _ := r.Reconcile(t.Context(), req)
					pq.AddWithOpts(priorityqueue.AddOpts{After: result.RequeueAfter, Priority: result.Priority}, req)
					pq.Done(req)
				}
			}()
		}

		time.Sleep(3 * time.Minute)
		woken.Store(count.Load())
		q.wake(news.NamespacedName, 0)

		if others := <-heard; others > 2*workers {
			t.Errorf("An object with news should be reconciled at once, not after %d others", others)
		}

		pq.ShutDown()
	})
}
