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

	"github.com/crossplane/crossplane-runtime/v2/pkg/test"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestFresh(t *testing.T) {
	gone := kerrors.NewNotFound(schema.GroupResource{}, "site")

	for name, tc := range map[string]struct {
		reason string
		// written are the versions after writes of the status, and cached is the version in the cache.
		written []string
		cached  string
		cache   error
		// after is the time since the last write.
		after time.Duration
		want  bool
	}{
		"NeverWritten": {reason: "An object whose status was not written should be reconciled.", cached: "8", want: true},
		"Behind":       {reason: "An object should wait until the cache shows its status.", written: []string{"9", "11"}, cached: "9"},
		"Longer":       {reason: "Versions are numbers.", written: []string{"10"}, cached: "9"},
		"Shown":        {reason: "An object with its last status in the cache should be reconciled.", written: []string{"9", "11"}, cached: "11", want: true},
		"Changed":      {reason: "An object that others have changed since should be reconciled.", written: []string{"9"}, cached: "12", want: true},
		"Gone":         {reason: "An object that is gone should be reconciled.", written: []string{"9"}, cache: gone, want: true},
		"Restored":     {reason: "A restored API server may have smaller versions.", written: []string{"900"}, cached: "12", after: staleFor, want: true},
		"NoNumber":     {reason: "Versions that cannot be compared should not delay a reconcile.", written: []string{"later"}, cached: "9", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := object()
				s := newSchedule(time.Minute, time.Minute)
				kube := &test.MockClient{MockGet: func(_ context.Context, _ client.ObjectKey, o client.Object) error {
					o.SetResourceVersion(tc.cached)
					return tc.cache
				}, MockScheme: test.NewMockSchemeFn(testScheme(t))}
				writes := 0
				w := statusWriter{SubResourceWriter: &test.MockSubResourceClient{MockUpdate: func(_ context.Context, o client.Object, _ ...client.SubResourceUpdateOption) error {
					o.SetResourceVersion(tc.written[writes])
					writes++

					return nil
				}}, reader: kube, schedule: s}

				for range tc.written {
					run.SetResourceVersion("1")

					needs.OK(t, w.Update(t.Context(), run))
				}

				time.Sleep(tc.after)

				got := 0
				f := fresh{
					runtime: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
						got++
						return reconcile.Result{}, nil
					}),
					connector: newConnector(&fakePool{}, func(c *connector) { c.kube, c.schedule = kube, s }),
				}

				result, err := f.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(run)})
				needs.OK(t, err)

				if diff := cmp.Diff(tc.want, got == 1); diff != "" {
					t.Errorf("%s\n-want reconciled, +got reconciled:\n%s", tc.reason, diff)
				}

				if tc.want == (result.RequeueAfter > 0) {
					t.Errorf("%s\nA delayed object should be reconciled again: after %s", tc.reason, result.RequeueAfter)
				}

				if left := len(s.written) > 0; left == tc.want {
					t.Errorf("%s\nA version should be kept until it was seen", tc.reason)
				}
			})
		})
	}
}
