package controller

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/v2/pkg/test"

	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/config"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

func TestWaiting(t *testing.T) {
	retry := reconcile.Result{Requeue: true} //nolint:staticcheck // It is what the runtime returns.
	conflict := kerrors.NewConflict(schema.GroupResource{}, "run", errBoom)
	missing := &config.MissingError{Missing: []string{"Secret not found"}}

	cases := map[string]struct {
		reason  string
		err     error
		written error
		result  error
		poll    time.Duration
		// least and most that is waited; none when it is tried again.
		least, most time.Duration
	}{
		"Missing": {
			reason: "An object in which something is missing should be polled: it is told when that appears.",
			err:    missing, poll: 10 * time.Minute, least: 9 * time.Minute, most: 11 * time.Minute,
		},
		"ShortPoll": {
			reason: "It should not be tried more often than others that fail.",
			err:    missing, poll: time.Second, least: time.Minute, most: time.Minute,
		},
		"NotWritten": {
			reason: "A status that could not be written should be written soon.",
			err:    missing, written: conflict, poll: 10 * time.Minute,
		},
		"Host": {
			reason: "Nobody watches for files of the provider.",
			err:    &config.MissingError{Missing: []string{"no file"}, Host: true}, poll: 10 * time.Minute,
		},
		"Other": {
			reason: "Whatever else fails should be tried again.",
			err:    errBoom, poll: 10 * time.Minute,
		},
		"Failed": {
			reason: "So should a reconcile that fails in the end.",
			err:    missing, result: errBoom, poll: 10 * time.Minute,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := newSchedule(tc.poll, time.Second)
			run := object()
			req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(run)}
			kube := statusClient{&test.MockClient{
				MockGet:          test.NewMockGetFn(errors.New("it is new")),
				MockStatusUpdate: func(context.Context, client.Object, ...client.SubResourceUpdateOption) error { return tc.written },
			}, p}

			e := connect(t, &fakePool{}, run, func() (inputs.Inputs, error) { return inputs.Inputs{}, tc.err }, func(c *connector) { c.schedule = p })

			w := fresh{schedule: p, pool: &fakePool{}, stopping: never, object: run, reader: kube, limiter: ratelimiter.NewGlobal(1000), Reconciler: reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
				if _, err := e.Observe(ctx, run); err == nil {
					t.Error("Observe should fail")
				}
				// The runtime does not report a conflict.
				_ = kube.Status().Update(ctx, run)

				return retry, tc.result
			})}

			got, _ := w.Reconcile(t.Context(), req)

			if tc.most == 0 {
				if diff := cmp.Diff(retry, got, cmpopts.IgnoreFields(reconcile.Result{}, "Priority")); diff != "" {
					t.Errorf("\n%s\nReconcile(...): -want, +got:\n%s", tc.reason, diff)
				}

				return
			}

			if got.RequeueAfter < tc.least || got.RequeueAfter > tc.most {
				t.Errorf("\n%s\nReconcile(...): got %+v, want to be called again after %s to %s", tc.reason, got, tc.least, tc.most)
			}
		})
	}
}

func TestNews(t *testing.T) {
	named := func(r *v1alpha1.AnsibleRun) { meta.SetExternalName(r, "run") }

	cases := map[string]struct {
		reason   string
		was, now *v1alpha1.AnsibleRun
		want     bool
	}{
		"Named": {
			reason: "That the runtime gave an object its external name is no news: it goes on with the reconcile.",
			was:    object(), now: object(named),
		},
		"NamedAndAnnotated": {
			reason: "What else has changed is.",
			was:    object(), now: object(named, annotated("team", "web")), want: true,
		},
		"Renamed": {
			reason: "Another name is somebody's wish.",
			was:    object(named), now: object(annotated(meta.AnnotationKeyExternalName, "other")), want: true,
		},
		"Annotated": {
			reason: "So is an annotation.",
			was:    object(named), now: object(named, annotated("team", "web")), want: true,
		},
		"Status": {
			reason: "A status is what we write.",
			was:    object(named), now: object(named, readySince(2)),
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := news().Update(event.UpdateEvent{ObjectOld: tc.was, ObjectNew: tc.now}); got != tc.want {
				t.Errorf("\n%s\nUpdate(...): got %t, want %t", tc.reason, got, tc.want)
			}
		})
	}

	if !news().Create(event.CreateEvent{Object: object()}) {
		t.Error("A new object should be reconciled.")
	}
}
