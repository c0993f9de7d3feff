package pods

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
)

// A staleCache shows Pods as they were, while it is told to.
type staleCache struct {
	client.Client

	was atomic.Pointer[corev1.Pod]
}

func (s *staleCache) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	if pods, ok := l.(*corev1.PodList); ok && s.was.Load() != nil {
		pods.Items = []corev1.Pod{*s.was.Load().DeepCopy()}
		return nil
	}

	return byRun{s.Client}.List(ctx, l, opts...)
}

// TestStale has the watch of Pods hang while the Pod starts, and the run end meanwhile: what it may have changed counts.
func TestStale(t *testing.T) {
	cases := map[string]struct {
		reason string
		// end the run: cancel it, or revoke it.
		end    func(cancel, revoke func())
		state  corev1.ContainerState
		node   string
		goesOn bool
		want   bool
	}{
		"Revoked":      {"A run that has begun is not given up for another one.", func(_, revoke func()) { revoke() }, running(), "", true, false},
		"Canceled":     {"A run that was canceled may have changed something.", func(cancel, _ func()) { cancel() }, running(), "", false, false},
		"NoGate":       {"So may one whose Pod has no gate.", func(cancel, _ func()) { cancel() }, running(), "n", false, false},
		"RevokedWaits": {"A run that has not begun is given up.", func(_, revoke func()) { revoke() }, waiting("ContainerCreating", ""), "", false, true},
		"Waits":        {"A run that has not begun has changed nothing.", func(cancel, _ func()) { cancel() }, waiting("ContainerCreating", ""), "", false, true},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, j := waitingOn(t, false, new(waiting("ContainerCreating", "")), nil, 0)
				if tc.node != "" {
					j.Inputs.Execution.PodTemplate = raw(`{"spec":{"nodeName":"` + tc.node + `"}}`)
				}

				stale := &staleCache{Client: x.config.Client}
				ready := make(chan struct{})
				close(ready)

				x.scopes.all[""] = &scope{Cache: &asCache{reader: stale}, ready: ready}

				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()

				wanted, revoke := context.WithCancel(t.Context())
				defer revoke()

				ended := make(chan executor.Report, 1)

				go func() { ended <- x.Execute(ctx, j, executor.Watch{Wanted: wanted}) }()

				time.Sleep(2 * idleAfter)
				synctest.Wait()

				p := &corev1.Pod{}
				if err := x.config.Client.Get(t.Context(), client.ObjectKey{Namespace: j.Reference().Namespace, Name: "p"}, p); err != nil {
					t.Fatal(err)
				}

				stale.was.Store(p.DeepCopy())

				p.Status = aPod(corev1.PodRunning, container(containerRun, tc.state)).Status
				if err := x.config.Client.Status().Update(t.Context(), p); err != nil {
					t.Fatal(err)
				}

				time.Sleep(lookEvery)
				tc.end(cancel, revoke)
				time.Sleep(lookEvery)
				stale.was.Store(nil)

				// A run that goes on ends by itself.
				if err := x.config.Client.Get(t.Context(), client.ObjectKeyFromObject(p), p); (err == nil) != tc.goesOn {
					t.Errorf("%s\nThe Pod should be there: %t", tc.reason, tc.goesOn)
				}

				_ = x.config.Client.Delete(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: j.Reference().Namespace, Name: j.Reference().Name}})

				if got := <-ended; got.Untouched != tc.want || got.Plan != "" {
					t.Errorf("%s\nwant untouched=%t, got %t: %s %s %q", tc.reason, tc.want, got.Untouched, got.Run.Phase, got.Run.Reason, got.Run.Message)
				}
			})
		})
	}
}

// TestFailedWaiting has the Pod of a run fail that has waited for long: it does not wait any more.
func TestFailedWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, j := waitingOn(t, false, new(waiting("ContainerCreating", "")), nil, 0)
		ended := make(chan executor.Report, 1)

		go func() { ended <- x.Execute(t.Context(), j, executor.Watch{}) }()

		time.Sleep(2 * idleAfter)
		synctest.Wait()

		p := &corev1.Pod{}
		if err := x.config.Client.Get(t.Context(), client.ObjectKey{Namespace: j.Reference().Namespace, Name: "p"}, p); err != nil {
			t.Fatal(err)
		}

		p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfcpu", Message: "Node didn't have enough resource"}
		if err := x.config.Client.Status().Update(t.Context(), p); err != nil {
			t.Fatal(err)
		}

		if got := <-ended; got.Plan != "" || got.Run.Phase != common.PhaseInterrupted {
			t.Errorf("Execute(...): %s with plan %q", got.Run.Phase, got.Plan)
		}
	})
}

// TestNotOpened ends a run whose Job cannot be deleted just when its Pod appears.
func TestNotOpened(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()

	cases := map[string]struct {
		reason string
		wanted context.Context
		cancel bool
		// again is true for a Pod that the Job has made after the one that was let run.
		again bool
		want  int
	}{
		"Wanted":        {"The Pod of a run that is wanted is let run.", t.Context(), false, false, 1},
		"WantedAgain":   {"So is the next one.", t.Context(), false, true, 1},
		"Revoked":       {"That of one which is given up is not.", ended, false, false, 0},
		"Canceled":      {"Nor is that of one which is canceled.", t.Context(), true, false, 0},
		"CanceledAgain": {"Nor is the next one.", t.Context(), true, true, 0},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			j := jobOf(t, onCluster(t))
			p := podOf(j, "p", time.Second)
			p.UID, p.Spec.SchedulingGates = "p", j.Spec.Template.Spec.SchedulingGates

			r := onCluster(t, j, p)
			cluster, _ := r.config.Client.(client.WithWatch)
			opened := 0
			r.config.Client = interceptor.NewClient(cluster, interceptor.Funcs{
				Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
					return errors.New("a webhook does not answer")
				},
				Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
					opened++
					return nil
				},
			})
			r.scope = &scope{Cache: &asCache{reader: byRun{cluster}}}
			r.key, r.stop = sealed.NewKey(), func() {}
			r.plan, r.report.Plan = "plan", "plan"
			r.report.Run.StartTime = new(metav1.NewTime(r.now().Add(-time.Hour)))
			r.watch = executor.Watch{Wanted: tc.wanted, Provider: t.Context(), Progress: func(executor.Report) {}}

			if r.begun = tc.again; tc.again {
				r.meant = "former"
			}

			r.look(t.Context(), tc.cancel)

			if diff := cmp.Diff(tc.want, opened); diff != "" {
				t.Errorf("%s\n-want opened, +got opened:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestQuotaPace counts the requests of a run that a quota refuses for long.
func TestQuotaPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, j := waitingOn(t, true, nil, nil, 0)
		cluster, _ := x.config.Client.(client.WithWatch)

		var asked atomic.Int64

		x.config.Client = interceptor.NewClient(cluster, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				err := c.Create(ctx, o, opts...)
				if kerrors.IsForbidden(err) {
					asked.Add(1)
				}

				return err
			},
		})

		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan executor.Report, 1)

		go func() { ended <- x.Execute(ctx, j, executor.Watch{}) }()

		time.Sleep(2 * idleAfter)
		synctest.Wait()

		before := asked.Load()

		time.Sleep(idleAfter)
		synctest.Wait()

		if got := asked.Load() - before; got == 0 || got > int64(idleAfter/lookEvery) {
			t.Errorf("The API server was asked %d times in a minute", got)
		}

		cancel()
		<-ended
	})
}

// TestCanceledLate cancels a run whose Job is made after the API server was asked to delete it.
func TestCanceledLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, j := waitingOn(t, false, nil, nil, 0)
		cluster, _ := x.config.Client.(client.WithWatch)

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()

		var late client.Object

		x.config.Client = interceptor.NewClient(cluster, interceptor.Funcs{
			Create: func(ctx context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
				late = o

				cancel()

				return ctx.Err()
			},
			// It is made once the API server has said that it is not there.
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				err := c.Get(ctx, key, o, opts...)
				if late != nil {
					_ = c.Create(ctx, late)
					late = nil
				}

				return err
			},
		})

		ended := make(chan executor.Report, 1)

		go func() { ended <- x.Execute(ctx, j, executor.Watch{}) }()

		time.Sleep(time.Hour)
		synctest.Wait()

		select {
		case got := <-ended:
			if got.Run.Phase != common.PhaseCanceled {
				t.Errorf("Execute(...): %s", got.Run.Phase)
			}
		default:
			t.Error("A run that was canceled should end.")
		}
	})
}

// TestOpenUnanswered loses the answer to the request that lets a Pod run, while the watch hangs, and cancels the run. What it
// may have changed counts.
func TestOpenUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, j := waitingOn(t, false, new(waiting("ContainerCreating", "")), nil, 0)
		cluster, _ := x.config.Client.(client.WithWatch)
		stale := &staleCache{Client: cluster}
		ready := make(chan struct{})
		close(ready)

		x.scopes.all[""] = &scope{Cache: &asCache{reader: stale}, ready: ready}
		x.config.Client = interceptor.NewClient(cluster, interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				pod, ok := o.(*corev1.Pod)
				if !ok {
					return c.Patch(ctx, o, p, opts...)
				}

				stale.was.Store(pod.DeepCopy())

				if err := c.Patch(ctx, o, p, opts...); err != nil {
					return err
				}

				pod.Status = aPod(corev1.PodRunning, container(containerRun, running())).Status
				if err := c.Status().Update(ctx, pod); err != nil {
					return err
				}

				return kerrors.NewTimeoutError("the answer was lost", 1)
			},
		})

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()

		ended := make(chan executor.Report, 1)

		go func() { ended <- x.Execute(ctx, j, executor.Watch{}) }()

		for stale.was.Load() == nil {
			time.Sleep(time.Second)
			synctest.Wait()
		}

		cancel()
		time.Sleep(time.Second)
		synctest.Wait()
		stale.was.Store(nil)

		if got := <-ended; got.Run.Phase != common.PhaseCanceled || got.Untouched {
			t.Errorf("A run that may have begun may have changed something: %s, untouched=%t", got.Run.Phase, got.Untouched)
		}
	})
}
