package controller

import (
	"context"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/config"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// TestNext tests the time of the next reconcile after one reconcile.
func TestNext(t *testing.T) {
	const soon = time.Second // The rate limiter of the queue sets the time.

	digest := digestOf(t, in("one"))
	conflict := kerrors.NewConflict(schema.GroupResource{}, "run", errBoom)
	missing := config.MissingError{"Secret not found"}
	applied := common.AnsibleRunObservation{
		LastApply:     &common.Apply{ID: "1", State: common.StatePresent, Result: common.PhaseSucceeded, InputsDigest: digest, CompletionTime: at(0)},
		AppliedDigest: digest,
	}
	running := &runs.Report{Run: common.Run{ID: "1", Phase: common.PhaseRunning, StartTime: at(0)}}
	watches := annotated(common.AnnotationWatch, at(3*time.Minute).Format(time.RFC3339))
	kept := applied
	kept.KeptOutput = &common.KeptOutput{CompletionTime: at(0)}

	for name, tc := range map[string]struct {
		reason string
		run    *v1alpha1.AnsibleRun
		// due is the time at which the content must be resolved again.
		due  *metav1.Time
		poll time.Duration
		// report of the pool.
		report *runs.Report
		// err is the error of the inputs, written that of the status, and secret that of the Secret.
		err, written, secret error

		want     time.Duration
		priority int
	}{
		"Polled":         {reason: "The next poll is due.", run: object(observed(applied)), want: 10 * time.Minute, priority: handler.LowPriority},
		"Due":            {reason: "Content must be resolved again.", run: object(observed(applied)), due: at(4 * time.Minute), want: 4 * time.Minute, priority: handler.LowPriority},
		"DueLater":       {reason: "A poll is due before the content.", run: object(observed(applied)), due: at(time.Hour), want: 10 * time.Minute, priority: handler.LowPriority},
		"Expires":        {reason: "Kept output expires.", run: object(observed(kept), annotated(common.AnnotationKeepOutput, "2m")), want: 2 * time.Minute, priority: handler.LowPriority},
		"Unwatched":      {"Output that is not watched any more is deleted.", object(observed(applied), watches), nil, 0, nil, nil, nil, nil, 3 * time.Minute, handler.LowPriority},
		"Watched":        {"The output of a watched run is saved again.", object(watches), nil, 0, running, nil, nil, nil, liveEvery, handler.LowPriority},
		"WatchedMissing": {"The output of a watched run is saved also with missing inputs.", object(watches), nil, 0, running, errBoom, nil, nil, liveEvery, handler.LowPriority},
		"InProgress":     {reason: "The pool wakes the object at the end of the run.", run: object(), report: running, want: 10 * time.Minute, priority: newsPriority},
		"Ended": {
			reason: "The result of the run must be recorded.", run: object(), want: time.Second, priority: newsPriority,
			report: &runs.Report{Run: common.Run{ID: "1", Mode: common.ModeApply, Phase: common.PhaseSucceeded, StartTime: at(0), CompletionTime: at(0)}},
		},
		"Failed": {
			reason: "The next reconcile is at the next attempt.", want: 7 * time.Minute, priority: newsPriority,
			run: object(observed(common.AnsibleRunObservation{LastApply: &common.Apply{
				ID: "1", State: common.StatePresent, Result: common.PhaseFailed, InputsDigest: digest, Attempts: 1, CompletionTime: at(0), NextRetryTime: at(7 * time.Minute),
			}})),
		},
		"Missing":    {reason: "A watch reports missing inputs.", run: object(), err: missing, want: 10 * time.Minute, priority: handler.LowPriority},
		"ShortPoll":  {reason: "A short poll interval should not increase retries for missing inputs.", run: object(), err: missing, poll: time.Second, want: time.Minute, priority: handler.LowPriority},
		"NotWritten": {reason: "After a conflict, the object should be retried soon.", run: object(), err: missing, written: conflict, want: soon},
		"Refused":    {reason: "A refused status should be retried soon.", run: object(observed(applied)), written: conflict, want: soon},
		"Other":      {reason: "Other errors should be retried soon.", run: object(), err: errBoom, want: soon},
		"NoSecret":   {reason: "A Secret that cannot be written should be retried soon.", run: object(observed(applied)), secret: errBoom, want: soon},
	} {
		t.Run(name, func(t *testing.T) {
			managedFully(tc.run)

			if tc.secret != nil {
				tc.run.SetWriteConnectionSecretToReference(&xpv2.LocalSecretReference{Name: "connection"})
			}

			kube := fakeKube(t).WithObjects(tc.run).WithInterceptorFuncs(interceptor.Funcs{
				SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, os ...client.SubResourceUpdateOption) error {
					if tc.written != nil {
						return tc.written
					}

					return c.SubResource(sub).Update(ctx, o, os...)
				},
				Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return tc.secret },
			}).Build()
			c := newConnector(&fakePool{report: tc.report}, func(c *connector) {
				c.kube, c.Resolver = kube, resolverFn(func() (inputs.Inputs, error) { return in("one"), tc.err })

				if tc.due != nil {
					c.Contents = &fakeContents{resolution: content.Resolution{Found: true, Due: tc.due.Time}}
				}

				if tc.poll > 0 {
					c.schedule = newSchedule(tc.poll, time.Second)
				}
			})
			f := fresh{connector: c, runtime: runtimeOf(statusClient{kube, c.schedule}, c)}

			got, err := f.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(tc.run)})

			switch retried := got.Requeue; { //nolint:staticcheck // It is what the runtime returns.
			case err != nil, retried != (tc.want == soon && tc.priority != newsPriority):
				t.Errorf("\n%s\nReconcile(...): got %+v, %v", tc.reason, got, err)
			case retried:
			case (got.RequeueAfter - tc.want).Abs() > tc.want/10, *got.Priority != tc.priority:
				t.Errorf("\n%s\nReconcile(...): got %s with priority %d, want %s with %d", tc.reason, got.RequeueAfter, *got.Priority, tc.want, tc.priority)
			}
		})
	}
}
