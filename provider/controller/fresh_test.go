package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/v2/pkg/test"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

func TestFresh(t *testing.T) {
	gone := kerrors.NewNotFound(schema.GroupResource{}, "site")

	cases := map[string]struct {
		reason string
		// written are the versions that writes of the status led to, and cached is the one that the cache shows.
		written []string
		cached  string
		cache   error
		// after is how long ago the status was written.
		after time.Duration
		want  bool
	}{
		"NeverWritten": {
			reason: "An object whose status was not written should be reconciled.",
			cached: "8",
			want:   true,
		},
		"Behind": {
			reason:  "An object should wait until the cache shows its status.",
			written: []string{"9", "11"},
			cached:  "9",
		},
		"Longer": {
			reason:  "Versions are numbers.",
			written: []string{"10"},
			cached:  "9",
		},
		"Shown": {
			reason:  "An object whose status is shown should be reconciled.",
			written: []string{"9", "11"},
			cached:  "11",
			want:    true,
		},
		"Changed": {
			reason:  "An object that others have changed since should be reconciled.",
			written: []string{"9"},
			cached:  "12",
			want:    true,
		},
		"Gone": {
			reason:  "Of an object that is gone nothing else will be shown.",
			written: []string{"9"},
			cache:   gone,
			want:    true,
		},
		"Restored": {
			reason:  "An API server that was restored may count from a smaller number.",
			written: []string{"900"},
			cached:  "12",
			after:   staleFor,
			want:    true,
		},
		"NoNumber": {
			reason:  "Versions that cannot be compared should hold nothing up.",
			written: []string{"later"},
			cached:  "9",
			want:    true,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := object()
				s := newSchedule(time.Minute, time.Minute)
				kube := &test.MockClient{MockGet: func(_ context.Context, _ client.ObjectKey, o client.Object) error {
					o.SetResourceVersion(tc.cached)
					return tc.cache
				}}
				writes := 0
				w := statusWriter{SubResourceWriter: &test.MockSubResourceClient{MockUpdate: func(_ context.Context, o client.Object, _ ...client.SubResourceUpdateOption) error {
					o.SetResourceVersion(tc.written[writes])
					writes++

					return nil
				}}, reader: kube, schedule: s}

				for range tc.written {
					run.SetResourceVersion("1")

					if err := w.Update(t.Context(), run); err != nil {
						t.Fatal(err)
					}
				}

				time.Sleep(tc.after)

				got := 0
				f := fresh{
					Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
						got++
						return reconcile.Result{}, nil
					}),
					reader: kube, schedule: s, object: &v1alpha1.AnsibleRun{}, pool: &fakePool{}, stopping: never, limiter: ratelimiter.NewGlobal(1000),
				}

				result, err := f.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(run)})
				if err != nil {
					t.Fatal(err)
				}

				if diff := cmp.Diff(tc.want, got == 1); diff != "" {
					t.Errorf("%s\n-want reconciled, +got reconciled:\n%s", tc.reason, diff)
				}

				if tc.want == (result.RequeueAfter > 0) {
					t.Errorf("%s\nAn object should be looked at again if it has to wait: after %s", tc.reason, result.RequeueAfter)
				}

				if _, left := s.lastWrite(client.ObjectKeyFromObject(run)); left == tc.want {
					t.Errorf("%s\nA version should be kept until it was seen", tc.reason)
				}

				s.forget(run)

				if _, left := s.lastWrite(client.ObjectKeyFromObject(run)); left {
					t.Errorf("%s\nNothing should be left of an object that is gone", tc.reason)
				}
			})
		})
	}
}

// TestPausedWants has the pool know what an object wants that is paused, which the runtime does not reconcile.
func TestPausedWants(t *testing.T) {
	tended := func(r *v1alpha1.AnsibleRun) {
		r.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionAll})
	}

	for name, tc := range map[string]struct {
		reason string
		object *v1alpha1.AnsibleRun
		want   int
	}{
		"Tended":         {"Its reconcile says what it wants.", object(tended), 0},
		"Paused":         {"What waits for its Pod should not begin.", object(tended, annotated(meta.AnnotationKeyReconciliationPaused, "true")), 1},
		"PausedByPolicy": {"So it is with those whose management policies allow nothing.", object(), 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := &fakePool{report: &runs.Report{Run: common.Run{ID: "1", Phase: common.PhaseQueued, StartTime: at(0)}, Plan: "waits"}}
			f := fresh{
				Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil }),
				reader: &test.MockClient{MockGet: test.NewMockGetFn(nil, func(o client.Object) error {
					tc.object.DeepCopyInto(o.(*v1alpha1.AnsibleRun))

					return nil
				})},
				schedule: newSchedule(time.Minute, time.Minute), object: &v1alpha1.AnsibleRun{}, pool: p, stopping: never, limiter: ratelimiter.NewGlobal(1000),
			}

			if _, err := f.Reconcile(t.Context(), reconcile.Request{}); err != nil || p.drops != tc.want || p.ends > 0 {
				t.Errorf("%s\nwant it dropped %d times, got %d, ended %d, %v", tc.reason, tc.want, p.drops, p.ends, err)
			}
		})
	}
}
