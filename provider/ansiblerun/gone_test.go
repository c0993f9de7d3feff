package ansiblerun

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/crossplane/crossplane-runtime/v2/pkg/test"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/job"
)

func TestRemoveFinalizer(t *testing.T) {
	report := func(m common.RunMode, p common.RunPhase) *job.Report {
		return &job.Report{Run: common.Run{ID: "1", Mode: m, State: common.StatePresent, Phase: p}}
	}

	cases := map[string]struct {
		reason   string
		report   *job.Report
		want     error
		canceled int
	}{
		"NoRun": {
			reason: "An object without a run should go.",
		},
		"Finished": {
			reason: "An object whose run has ended should go.",
			report: report(common.ModeApply, common.PhaseSucceeded),
		},
		"Applying": {
			reason: "An object should stay until its content was applied.",
			report: report(common.ModeApply, common.PhaseRunning),
			want:   errInProgress,
		},
		"Queued": {
			reason: "A run that has not begun should not be canceled if it begins meanwhile.",
			report: report(common.ModeApply, common.PhaseQueued),
			want:   errInProgress,
		},
		"Checking": {
			reason:   "Nobody wants to know the result of a check any more.",
			report:   report(common.ModeCheck, common.PhaseRunning),
			want:     errInProgress,
			canceled: 1,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			removed := false
			p := &fakePool{report: tc.report}
			f := finalizer{pool: p, Finalizer: resource.FinalizerFns{RemoveFinalizerFn: func(context.Context, resource.Object) error {
				removed = true
				return nil
			}}}

			err := f.RemoveFinalizer(t.Context(), object())
			if diff := cmp.Diff(tc.want, err, test.EquateErrors()); diff != "" {
				t.Errorf("\n%s\nRemoveFinalizer(...): -want error, +got error:\n%s", tc.reason, diff)
			}

			if removed != (tc.want == nil) {
				t.Errorf("\n%s\nRemoveFinalizer(...): removed is %t", tc.reason, removed)
			}

			if withdrawn := p.withdrawn > 0; withdrawn != (tc.want != nil) {
				t.Errorf("\n%s\nRemoveFinalizer(...): withdrawn is %t: a run that has not begun should not begin any more", tc.reason, withdrawn)
			}

			if p.canceled != tc.canceled {
				t.Errorf("\n%s\nRemoveFinalizer(...): want %d runs canceled, got %d", tc.reason, tc.canceled, p.canceled)
			}
		})
	}
}

func TestWhenGone(t *testing.T) {
	pool, p := &fakePool{}, newPolls(time.Minute, time.Second)
	p.set("uid", t0)
	p.wakeAt("uid", time.Hour, func() {})

	whenGone(pool, p).Delete(t.Context(), event.DeleteEvent{Object: object()}, nil)

	if diff := cmp.Diff([]types.UID{"uid"}, pool.abandoned); diff != "" {
		t.Errorf("The run of an object that is gone should be abandoned: -want, +got:\n%s", diff)
	}

	if len(p.until)+len(p.timers) > 0 {
		t.Errorf("Nothing should be remembered of an object that is gone, got %v and %v", p.until, p.timers)
	}
}
