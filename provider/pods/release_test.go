package pods

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

// cleansUp has an executor clean up after runs, whose Jobs a cache shows at once, until it is stopped.
func cleansUp(t *testing.T, x *Executor, cluster client.Reader) context.CancelFunc {
	t.Helper()

	ready := make(chan struct{})
	close(ready)

	x.forget = make(chan executor.Job, maxForgotten)
	x.scopes = &scopes{config: x.config, all: map[string]*scope{"": {Cache: &asCache{reader: cluster}, ready: ready}}, followers: map[runKey]chan struct{}{}}

	ctx, stop := context.WithCancel(t.Context())

	go x.cleanAll(ctx)

	return stop
}

// TestForgetTogether forgets runs that end together in two namespaces, one of which refuses to
// have its Secrets removed, and looks at the requests and at what is left.
func TestForgetTogether(t *testing.T) {
	const (
		runs     = 20
		refusing = "refuses"
	)

	synctest.Test(t, func(t *testing.T) {
		var (
			objects []client.Object
			jobs    []executor.Job
			mu      sync.Mutex
		)

		for _, ns := range []string{"ns", refusing} {
			for i := range runs {
				r := onCluster(t)
				r.job.ID = fmt.Sprintf("%s-%d", ns, i)
				r.job.Inputs.Execution.Namespace = ns
				r.ref = *r.job.Reference()

				j := jobOf(t, r, func(j *batchv1.Job) { j.UID = types.UID(r.job.ID) })
				objects = append(objects, j, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: secretName(r.ref, 0), Labels: j.Labels}})
				jobs = append(jobs, r.job)
			}
		}

		// The status of another object names the run of this one.
		victim := onCluster(t)
		victim.job.ID, victim.job.Inputs.Execution.Namespace = "victim", "ns"
		victim.ref = *victim.job.Reference()
		ofVictim := jobOf(t, victim, func(j *batchv1.Job) { j.UID = "victim" })
		victim.job.Object.UID = "another"
		jobs = append(jobs, victim.job)

		// One of a run that goes on, one that a tenant has made, and that of the victim.
		others := []client.Object{
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "goes-on", Labels: map[string]string{labelRun: "other"}}},
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "own"}},
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: secretName(victim.ref, 0), Labels: ofVictim.Labels}},
		}

		objects = append(objects, ofVictim)

		x := onCluster(t, append(objects, others...)...).Executor
		cluster, _ := x.config.Client.(client.WithWatch)
		removals := map[string]int{}
		x.config.Client = interceptor.NewClient(cluster, interceptor.Funcs{
			DeleteAllOf: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteAllOfOption) error {
				all := (&client.DeleteAllOfOptions{}).ApplyOptions(opts)

				mu.Lock()
				removals[all.Namespace]++
				mu.Unlock()

				if all.Namespace == refusing {
					return errors.New("refused")
				}

				return c.DeleteAllOf(ctx, o, opts...)
			},
		})
		stop := cleansUp(t, x, cluster)
		defer stop()

		for _, j := range jobs {
			x.Forget(j)
		}

		time.Sleep(2 * gatherFor)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()

		if diff := cmp.Diff(map[string]int{"ns": runs / maxTogether, refusing: runs / maxTogether}, removals); diff != "" {
			t.Errorf("The Secrets of runs that end together should go together: -want requests, +got requests:\n%s", diff)
		}

		left, expiring := map[string]int{}, map[string]int{}

		for _, o := range append(objects, others...) {
			if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
				continue
			}

			switch o := o.(type) {
			case *corev1.Secret:
				left[o.Namespace]++
			case *batchv1.Job:
				if *o.Spec.TTLSecondsAfterFinished == int32(keepFor(o).Seconds()) {
					expiring[o.Namespace]++
				}
			}
		}

		if diff := cmp.Diff(map[string]int{"ns": len(others), refusing: runs}, left); diff != "" {
			t.Errorf("Secrets: -want left, +got left:\n%s", diff)
		}

		// A Job without its Secrets removed is found again by the sweep.
		if diff := cmp.Diff(map[string]int{"ns": runs}, expiring); diff != "" {
			t.Errorf("Jobs: -want expiring, +got expiring:\n%s", diff)
		}
	})
}

// TestForgetMany forgets runs that end at 20 a second, on an API server that is as busy as one was with them: it took 140 ms
// for each Secret, one after the other, and 160 ms for a write. What is left of runs does not grow.
func TestForgetMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const runs = 200

		var (
			objects []client.Object
			jobs    []executor.Job
		)

		for i := range runs {
			r := onCluster(t)
			r.job.ID = fmt.Sprint(i)
			r.job.Inputs.Execution.Namespace = "ns"
			r.ref = *r.job.Reference()
			objects = append(objects, jobOf(t, r, func(j *batchv1.Job) { j.UID = types.UID(r.job.ID) }))
			jobs = append(jobs, r.job)
		}

		var released atomic.Int64

		x := onCluster(t, objects...).Executor
		cluster, _ := x.config.Client.(client.WithWatch)
		x.config.Client = interceptor.NewClient(cluster, interceptor.Funcs{
			DeleteAllOf: func(_ context.Context, _ client.WithWatch, _ client.Object, opts ...client.DeleteAllOfOption) error {
				of, _ := (&client.DeleteAllOfOptions{}).ApplyOptions(opts).LabelSelector.Requirements()
				time.Sleep(time.Duration(len(of[0].Values())) * 140 * time.Millisecond)

				return nil
			},
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				time.Sleep(160 * time.Millisecond)
				released.Add(1)

				return nil
			},
		})
		stop := cleansUp(t, x, cluster)
		defer stop()

		for _, j := range jobs {
			x.Forget(j)
			time.Sleep(50 * time.Millisecond)
		}

		time.Sleep(10 * time.Second)
		synctest.Wait()

		if left := runs - released.Load(); left > 0 {
			t.Errorf("%d of %d runs are not released 10 s after the last one", left, runs)
		}
	})
}

// TestReleaseOnce sweeps up a Job that has ended again and again, for each time that it is to be kept.
func TestReleaseOnce(t *testing.T) {
	began := metav1.NewTime(time.Date(2025, 12, 31, 23, 0, 0, 0, time.UTC))

	cases := map[string]struct {
		reason string
		keep   string
		// policy of the cluster for all Jobs; zero if it has none.
		policy time.Duration
		want   time.Duration
	}{
		"Default":  {"A Job is released once.", "10m0s", 0, 10 * time.Minute},
		"Day":      {"So is one that is kept for as long as one that was not released.", "24h0m0s", 0, lostAfter},
		"DayRound": {"Kubernetes counts seconds.", "24h0m0.5s", 0, lostAfter},
		"Longest":  {"A configuration may have it kept for a week.", "168h0m0s", 0, maxKeepFor},
		"TooLong":  {"Nobody has it kept for longer.", "169h0m0s", 0, 10 * time.Minute},
		"Policy":   {"A policy may have all Jobs kept for as long as it likes.", "10m0s", time.Hour, time.Hour},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			j := jobOf(t, onCluster(t), func(j *batchv1.Job) {
				j.CreationTimestamp, j.Status.StartTime = began, &began
				j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: began}}
				j.Annotations[annotationKeepFor] = tc.keep
			})
			overwrite := func(o client.Object) {
				if j, ok := o.(*batchv1.Job); ok && tc.policy > 0 {
					j.Spec.TTLSecondsAfterFinished = new(int32(tc.policy.Seconds()))
				}
			}
			overwrite(j)

			x := onCluster(t, j).Executor

			cluster, _ := x.config.Client.(client.WithWatch)
			removals := 0
			x.config.Client = interceptor.NewClient(cluster, interceptor.Funcs{
				DeleteAllOf: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteAllOfOption) error {
					removals++
					return c.DeleteAllOf(ctx, o, opts...)
				},
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					if err := c.Patch(ctx, o, p, opts...); err != nil {
						return err
					}

					overwrite(o)

					return c.Update(ctx, o)
				},
			})

			for range 3 {
				if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(j), j); err != nil {
					t.Fatal(err)
				}

				if err := x.sweepJob(t.Context(), j.DeepCopy()); err != nil {
					t.Fatal(err)
				}
			}

			if kept := time.Duration(*j.Spec.TTLSecondsAfterFinished) * time.Second; removals != 1 || kept != tc.want {
				t.Errorf("%s\nsweepJob(...): want it released once and kept for %s, got %d times and %s", tc.reason, tc.want, removals, kept)
			}
		})
	}
}

// TestReleasedSuspended sweeps up the Job of a run that is recorded and that somebody has suspended before it was complete.
func TestReleasedSuspended(t *testing.T) {
	for name, tc := range map[string]struct {
		reason     string
		conditions []batchv1.JobCondition
		left       bool
	}{
		"Suspended": {"It never ends, so that nothing else removes it.", nil, false},
		"Complete":  {"It has ended, and is kept for as long as it is to be.", []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Unix(1767222000, 0))}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			j := jobOf(t, onCluster(t), suspended, func(j *batchv1.Job) {
				j.CreationTimestamp, j.Status.Conditions = metav1.NewTime(time.Date(2025, 12, 31, 23, 0, 0, 0, time.UTC)), tc.conditions
			})
			x := onCluster(t, j).Executor
			x.config.Status = func(context.Context, ObjectReference) (State, error) { return StateRecorded, nil }

			if err := x.release(t.Context(), j.Namespace, j.DeepCopy()); err != nil {
				t.Fatal(err)
			}

			if err := x.config.Client.Get(t.Context(), client.ObjectKeyFromObject(j), j); err != nil {
				t.Fatal(err)
			}

			if err := x.sweepJob(t.Context(), j.DeepCopy()); err != nil {
				t.Fatal(err)
			}

			if err := x.config.Client.Get(t.Context(), client.ObjectKeyFromObject(j), j); (err == nil) != tc.left {
				t.Errorf("%s\nThe Job is left: want %t, got %v", tc.reason, tc.left, err)
			}
		})
	}
}
