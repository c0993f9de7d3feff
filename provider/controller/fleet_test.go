package controller

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	cevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/lifecycle"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/telemetry"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// A fleet has objects, the reconciler of crossplane-runtime, and a pool with one place, in a
// synctest bubble. A run goes on until the test ends it.
type fleet struct {
	t          *testing.T
	kube       client.Client
	pool       *pool.Pool
	reconciler reconcile.Reconciler
	changes    handler.EventHandler
	names      []types.NamespacedName

	// playbook of all objects. With installing, the first object waits for its content.
	playbook   string
	installing bool
	end        chan struct{}

	mu    sync.Mutex
	woken map[types.NamespacedName]bool
	ids   int
	// ran has the playbooks of the runs that have begun.
	ran []string
	// writes has the writes: "object" or "status".
	writes []string
}

// counted writes.
func (f *fleet) counted() interceptor.Funcs {
	return interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, os ...client.UpdateOption) error {
			f.writes = append(f.writes, "object")

			return c.Update(ctx, o, os...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, os ...client.SubResourceUpdateOption) error {
			was := f.get(client.ObjectKeyFromObject(o))
			err := c.SubResource(sub).Update(ctx, o, os...)

			// The API server does not write an unchanged object.
			now := f.get(client.ObjectKeyFromObject(o))
			if now.ResourceVersion = was.ResourceVersion; !cmp.Equal(was, now) {
				f.writes = append(f.writes, sub)
			}

			return err
		},
	}
}

func newFleet(t *testing.T, size int) *fleet {
	t.Helper()

	f := &fleet{t: t, playbook: "one", end: make(chan struct{}), woken: map[types.NamespacedName]bool{}}
	b := fakeKube(t).WithInterceptorFuncs(f.counted())

	for i := range size {
		run := object(withFinalizer, managedFully)
		run.Name, run.UID = "run-"+strconv.Itoa(i), types.UID(strconv.Itoa(i))
		f.names = append(f.names, client.ObjectKeyFromObject(run))
		b.WithObjects(run)
	}

	f.kube = b.Build()
	f.start()

	return f
}

// start starts a provider.
func (f *fleet) start() {
	f.pool = pool.New(map[common.Place]pool.Place{common.PlaceProvider: {
		Execute: f.execute, Await: f.await, Runs: 1, PerTenant: 1,
	}}, func() bool { return true }, telemetry.NewObserver(logging.NewNopLogger(), event.NewNopRecorder(), nil))

	c := newConnector(f.pool, func(c *connector) {
		c.Resolver = resolverFn(func() (inputs.Inputs, error) { return in(f.playbook), nil })
		c.kube, c.wake, c.now, c.newID = f.kube, f.wake, time.Now, f.newID
	})

	f.changes = c.changes()
	f.reconciler = fresh{connector: c, runtime: runtimeOf(f.kube, c)}
}

// await waits for the content of an object.
func (f *fleet) await(uid types.UID, _ content.Request, _ func()) (ended bool, err error) {
	return !f.installing || uid != "0", nil
}

func (f *fleet) newID() string {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.ids++

	return "id-" + strconv.Itoa(f.ids)
}

func (f *fleet) wake(name types.NamespacedName, after time.Duration) {
	if after > 0 {
		time.AfterFunc(after, func() { f.wake(name, 0) })
		return
	}

	f.mu.Lock()
	defer f.mu.Unlock()

	f.woken[name] = true
}

// execute executes a run.
func (f *fleet) execute(ctx context.Context, run runs.Run, w runs.Watch) runs.Report {
	if run.Begun != nil {
		r := run.Report()
		return r.Interrupted(time.Now())
	}

	f.mu.Lock()
	f.ran = append(f.ran, run.Inputs.Parameters.PlaybookInline)
	f.mu.Unlock()

	now := metav1.NewTime(time.Now().Truncate(time.Second))
	r := run.Report()
	r.Run.Phase, r.Run.StartTime, r.Run.CompletionTime = common.PhaseRunning, &now, &now
	r.Run.Hosts = &common.HostTotals{OK: 1}
	w.Progress(r)

	r.Run.Phase = common.PhaseSucceeded

	select {
	case <-f.end:
	case <-ctx.Done():
		r.Run.Phase = common.PhaseCanceled
	}

	return r
}

// reconcile reconciles objects. An object with a new start time in its status is woken.
func (f *fleet) reconcile(names ...types.NamespacedName) {
	f.t.Helper()

	for _, n := range names {
		was := f.get(n)

		if _, err := f.reconciler.Reconcile(f.t.Context(), reconcile.Request{NamespacedName: n}); err != nil {
			f.t.Fatalf("cannot reconcile %s: %s", n, err)
		}

		f.changes.Update(f.t.Context(), cevent.UpdateEvent{ObjectOld: was, ObjectNew: f.get(n)}, nil)
	}
}

// settle reconciles the objects that were woken, until none is any more.
func (f *fleet) settle() {
	f.t.Helper()

	for {
		synctest.Wait()

		f.mu.Lock()
		names := make([]types.NamespacedName, 0, len(f.woken))
		for n := range f.woken {
			names = append(names, n)
		}
		clear(f.woken)
		f.mu.Unlock()

		if len(names) == 0 {
			return
		}

		f.reconcile(names...)
	}
}

func (f *fleet) get(n types.NamespacedName) *v1alpha1.AnsibleRun {
	f.t.Helper()

	run := &v1alpha1.AnsibleRun{}
	if err := f.kube.Get(f.t.Context(), n, run); err != nil {
		f.t.Fatalf("cannot get %s: %s", n, err)
	}

	return run
}

func (f *fleet) update(n types.NamespacedName, fn func(r *v1alpha1.AnsibleRun)) {
	f.t.Helper()

	run := f.get(n)
	fn(run)

	needs.OK(f.t, f.kube.Update(f.t.Context(), run))

	f.wake(n, 0)
}

// TestDrain stops a provider with one run in progress and others that wait: the result of the run is recorded, and the
// objects of the others do not change.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 5)

		f.reconcile(f.names...)
		f.settle()
		f.reconcile(f.names...)

		before := map[types.NamespacedName]*v1alpha1.AnsibleRun{}
		for _, n := range f.names {
			before[n] = f.get(n)
		}

		stopped := make(chan struct{})

		go func() {
			defer close(stopped)

			f.pool.Stop(t.Context())
		}()

		f.settle()
		f.reconcile(f.names...)
		f.end <- struct{}{}
		<-stopped

		f.settle()

		for f.pool.Unrecorded() > 0 {
			f.reconcile(f.names...)
		}

		for i, n := range f.names {
			got := f.get(n)
			if i == 0 {
				if p := got.Status.AtProvider.LastRun.Phase; p != common.PhaseSucceeded {
					t.Errorf("The result of the run that ended should be recorded, got %s", p)
				}

				continue
			}

			if diff := cmp.Diff(before[n], got); diff != "" {
				t.Errorf("Nothing has happened to %s: -before, +after:\n%s", n.Name, diff)
			}
		}

		if len(f.ran) != 1 {
			t.Errorf("Nothing should begin while the provider is stopping, got %d runs", len(f.ran))
		}
	})
}

// TestKilled ends a provider during a run. The next provider records that, and repeats the run.
func TestKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1)
		status := func() common.AnsibleRunObservation {
			f.reconcile(f.names...)
			f.settle()

			return f.get(f.names[0]).Status.AtProvider
		}

		if p := status().LastRun.Phase; p != common.PhaseQueued {
			t.Fatalf("The run should begin, and is %s", p)
		}

		f.pool.Stop(canceled(t))
		f.start()

		if o := status(); o.LastRun.Phase != common.PhaseInterrupted || o.Interruptions != 1 || o.LastApply.Attempts != 0 || len(o.History) != 1 {
			t.Errorf("The run should be interrupted, which is no attempt, got %+v, %+v", o.LastRun, o.LastApply)
		}

		time.Sleep(2 * lifecycle.FirstBackoff)

		if o := status(); o.LastRun.Phase.Finished() || len(f.ran) != 2 {
			t.Errorf("The run should be repeated, got %+v, %q", o.LastRun, f.ran)
		}

		f.pool.Stop(canceled(t))
	})
}

// canceled is a context that is done.
func canceled(t *testing.T) context.Context {
	t.Helper()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	return ctx
}

// TestStopShown stops a provider when a status has the start time of a run that has not begun. The run does not begin,
// and the status is set back before the provider ends.
func TestStopShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1)

		for f.get(f.names[0]).Status.AtProvider.LastRun == nil {
			f.reconcile(f.names...)
		}

		f.pool.Stop(t.Context())

		if n := f.pool.Unrecorded(); n != 1 {
			t.Errorf("The status shows a start, and %d runs are unrecorded", n)
		}

		f.settle()

		if last := f.get(f.names[0]).Status.AtProvider.LastRun; last.StartTime != nil || f.pool.Unrecorded() > 0 || len(f.ran) > 0 {
			t.Errorf("The run should wait: %+v, unrecorded %d, ran %q", last, f.pool.Unrecorded(), f.ran)
		}
	})
}

// TestWrites counts what a run writes: each write is two events for the circuit breaker
// that core has for the XR, which opens after 100 of them.
func TestWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1)
		f.update(f.names[0], func(r *v1alpha1.AnsibleRun) { r.SetFinalizers(nil) })
		f.writes = nil

		f.reconcile(f.names...)
		f.settle()
		f.end <- struct{}{}
		f.settle()
		f.reconcile(f.names...)

		if p := f.get(f.names[0]).Status.AtProvider.LastRun.Phase; p != common.PhaseSucceeded {
			t.Fatalf("The object should be applied, and is %s", p)
		}

		// The finalizer, the start and the end of the run.
		if diff := cmp.Diff([]string{"object", "status", "status"}, f.writes); diff != "" {
			t.Errorf("A short first run should need no more writes: -want, +got:\n%s", diff)
		}

		f.pool.Stop(t.Context())
	})
}

// TestInstalling has an object that waits for its content, and others that do not wait for it.
func TestInstalling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2)
		f.installing = true
		f.reconcile(f.names...)
		f.settle()
		time.Sleep(time.Minute) // After this time, the phase is in the status.
		f.settle()

		r := f.get(f.names[0]).Status.AtProvider
		if r.LastRun == nil || r.LastRun.Phase != common.PhaseInstalling || r.LastRun.StartTime != nil || r.LastApply != nil {
			t.Errorf("The status should say what the object waits for, and that nothing was tried: %+v", r)
		}

		if p := f.get(f.names[1]).Status.AtProvider.LastRun.Phase; p != common.PhaseRunning {
			t.Errorf("The other one should run, and is %s", p)
		}

		f.end <- struct{}{}
		f.playbook = "two"
		f.installing = false
		f.wake(f.names[0], 0)
		f.settle()
		f.end <- struct{}{}
		f.settle()
		f.reconcile(f.names[0])

		if diff := cmp.Diff([]string{"one", "two"}, f.ran[:2]); diff != "" {
			t.Errorf("What runs should be what is wanted once the content is there: -want, +got:\n%s", diff)
		}

		if p := f.get(f.names[0]).Status.AtProvider.LastRun.Phase; p != common.PhaseSucceeded {
			t.Errorf("The object should be applied, and is %s", p)
		}

		f.pool.Stop(t.Context())
	})
}

// TestDecidedAnew changes objects with waiting runs.
func TestDecidedAnew(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(f *fleet, second types.NamespacedName)
		ran    []string
	}{
		"Inputs": {reason: "The run should have the inputs at its beginning.", change: func(f *fleet, _ types.NamespacedName) { f.playbook = "two" }, ran: []string{"one", "two", "two"}},
		"Invalid": {
			reason: "An object with invalid inputs should not run, and not block others.",
			change: func(f *fleet, n types.NamespacedName) {
				f.update(n, annotated(common.AnnotationRunPolicy, "None"))
			},
			ran: []string{"one", "one"},
		},
		"Paused": {
			reason: "A paused object should not block others.",
			change: func(f *fleet, n types.NamespacedName) {
				f.update(n, func(r *v1alpha1.AnsibleRun) { r.SetManagementPolicies(xpv2.ManagementPolicies{}) })
			},
			ran: []string{"one", "one"},
		},
		"Held": {
			reason: "A deleted object with other finalizers should not block others.",
			change: func(f *fleet, n types.NamespacedName) {
				f.update(n, func(r *v1alpha1.AnsibleRun) { r.SetFinalizers(append(r.GetFinalizers(), "example.org/other")) })

				needs.OK(f.t, f.kube.Delete(f.t.Context(), f.get(n)))
			},
			ran: []string{"one", "one"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 3)
				f.reconcile(f.names...)
				f.settle()

				tc.change(f, f.names[1])

				for i := range tc.ran {
					if len(f.ran) <= i {
						t.Fatalf("\n%s\nNo object runs after %v", tc.reason, f.ran)
					}

					f.end <- struct{}{}
					f.settle()
				}

				if diff := cmp.Diff(tc.ran, f.ran); diff != "" {
					t.Errorf("\n%s\n-want runs, +got:\n%s", tc.reason, diff)
				}
			})
		})
	}
}
