package pods

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// Pods start late on a cluster that is busy. Asking it why must not keep it busy: a list of events takes the API server the
// longer, the more events there are.
func TestTroublePace(t *testing.T) {
	for name, tc := range map[string]struct {
		reason     string
		takes      time.Duration
		told, most int
	}{
		"Fast": {"A cluster that answers at once tells about each Pod.", time.Millisecond, 50, 60},
		"Slow": {"One that takes seconds is asked a tenth of the time.", 2 * time.Second, 2, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := onCluster(t)
				cluster, _ := r.config.Client.(client.WithWatch)

				var asked, told atomic.Int64

				x := r.Executor
				x.now = time.Now
				x.config.Client = interceptor.NewClient(cluster, interceptor.Funcs{
					List: func(_ context.Context, _ client.WithWatch, l client.ObjectList, _ ...client.ListOption) error {
						time.Sleep(tc.takes)

						asked.Add(1)
						l.(*corev1.EventList).Items = []corev1.Event{{Reason: "FailedMount", Message: "no such volume"}}

						return nil
					},
				})

				for n := range 50 {
					go func() {
						time.Sleep(time.Duration(n) * 150 * time.Millisecond)

						follower := run{Executor: x, job: r.job, ref: r.ref}
						v := view{job: jobOf(t, r), pod: aPod(corev1.PodPending)}

						for range 20 {
							if follower.trouble(t.Context(), v) == "FailedMount: no such volume" {
								told.Add(1)
								return
							}

							time.Sleep(podPatience)
						}
					}()
				}

				time.Sleep(time.Minute)
				synctest.Wait()

				if asked.Load() > int64(tc.most) || told.Load() < int64(tc.told) {
					t.Errorf("%s\nasked %d times in a minute, told %d times", tc.reason, asked.Load(), told.Load())
				}

				time.Sleep(time.Minute)
				synctest.Wait()
			})
		})
	}
}

// TestTroubleElsewhere has somebody write so many events in a namespace that a list of them takes long, and nothing is to be
// noticed of that in another one.
func TestTroubleElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onCluster(t)
		cluster, _ := r.config.Client.(client.WithWatch)

		x := r.Executor
		x.now = time.Now
		x.config.Client = interceptor.NewClient(cluster, interceptor.Funcs{
			List: func(ctx context.Context, _ client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
				if (&client.ListOptions{}).ApplyOptions(opts).Namespace == "flooded" {
					<-ctx.Done()

					return ctx.Err()
				}

				l.(*corev1.EventList).Items = []corev1.Event{{Reason: "FailedMount", Message: "no such volume"}}

				return nil
			},
		})

		look := func(namespace string) string {
			ctx, stop := context.WithTimeout(t.Context(), requestTimeout)
			defer stop()

			follower := run{Executor: x, job: r.job, ref: common.JobReference{Namespace: namespace}}

			return follower.trouble(ctx, view{job: jobOf(t, r), pod: aPod(corev1.PodPending)})
		}

		go look("flooded")

		synctest.Wait()

		for _, when := range []string{"while the list takes long", "after that"} {
			if look("ns") == "" {
				t.Errorf("A run in another namespace should say what it waits for %s.", when)
			}

			time.Sleep(requestTimeout + eventsLeast)
			synctest.Wait()
		}
	})
}
