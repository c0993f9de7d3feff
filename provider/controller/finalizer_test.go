package controller

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/crossplane/crossplane-runtime/v2/pkg/test"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

func TestRemoveFinalizer(t *testing.T) {
	report := func(m common.RunMode, p common.RunPhase) *runs.Report {
		return &runs.Report{Run: common.Run{ID: "1", Mode: m, State: common.StatePresent, Phase: p}, Waits: p == common.PhaseQueued}
	}

	for name, tc := range map[string]struct {
		reason   string
		report   *runs.Report
		last     *common.Run
		cancel   string
		want     error
		canceled bool
	}{
		"NoRun":    {reason: "An object without a run should go."},
		"Finished": {reason: "An object with an ended run should go.", report: report(common.ModeApply, common.PhaseSucceeded)},
		"Applying": {reason: "An object should stay until its content was applied.", report: report(common.ModeApply, common.PhaseRunning), want: errInProgress},
		"Queued":   {reason: "An object with a waiting run should go.", report: report(common.ModeApply, common.PhaseQueued)},
		"Stopping": {
			reason: "An object with a run that outlives the provider should stay, also when this provider is stopping.",
			last:   &common.Run{ID: "1", Phase: common.PhaseRunning, StartTime: at(0), Pod: &common.PodReference{Name: "ansiblerun-1"}},
			want:   errInProgress,
		},
		"Ended":          {reason: "An object with a recorded end of its run should go.", last: &common.Run{ID: "1", Phase: common.PhaseFailed, StartTime: at(0), Pod: &common.PodReference{Name: "ansiblerun-1"}}},
		"Canceled":       {reason: "The run for which an object stays may be canceled.", report: report(common.ModeApply, common.PhaseRunning), cancel: "1", want: errInProgress, canceled: true},
		"CanceledBefore": {reason: "The cancellation of another run has no effect.", report: report(common.ModeApply, common.PhaseRunning), cancel: "0", want: errInProgress},
		"Checking":       {reason: "The result of a check is not needed any more.", report: report(common.ModeCheck, common.PhaseRunning), want: errInProgress, canceled: true},
	} {
		t.Run(name, func(t *testing.T) {
			removed := false
			p := &fakePool{report: tc.report}
			f := finalizer{connector: newConnector(p, func(c *connector) { c.Resolver = resolverFn(nil) }), Finalizer: resource.FinalizerFns{RemoveFinalizerFn: func(context.Context, resource.Object) error {
				removed = true
				return nil
			}}}

			run := object(observed(common.AnsibleRunObservation{LastRun: tc.last}))
			meta.AddAnnotations(run, map[string]string{common.AnnotationCancel: tc.cancel})

			err := f.RemoveFinalizer(t.Context(), run)
			if diff := cmp.Diff(tc.want, err, test.EquateErrors()); diff != "" {
				t.Errorf("\n%s\nRemoveFinalizer(...): -want error, +got error:\n%s", tc.reason, diff)
			}

			if removed != (tc.want == nil) {
				t.Errorf("\n%s\nRemoveFinalizer(...): removed is %t", tc.reason, removed)
			}

			if len(p.wants) != 1 || p.wants[0].Run != nil {
				t.Errorf("\n%s\nRemoveFinalizer(...): a run that has not begun should not begin any more", tc.reason)
			}

			if len(p.followed) == 1 != inProgress(tc.last) {
				t.Errorf("\n%s\nRemoveFinalizer(...): a run that a former provider has begun should be followed", tc.reason)
			}

			if tc.report != nil && p.wants[0].End != tc.canceled {
				t.Errorf("\n%s\nRemoveFinalizer(...): want the run canceled: %t", tc.reason, tc.canceled)
			}
		})
	}
}

func TestGone(t *testing.T) {
	pool, m := &fakePool{}, &forgetful{}
	c := newConnector(pool, func(c *connector) { c.Dependents, c.Facts = m, m })
	c.schedule.wrote(object())

	again := object()
	again.UID = "again"

	c.changes().Delete(t.Context(), event.DeleteEvent{Object: object()}, nil)
	c.changes().Update(t.Context(), event.UpdateEvent{ObjectOld: object(), ObjectNew: object()}, nil)
	c.changes().Update(t.Context(), event.UpdateEvent{ObjectOld: again, ObjectNew: object()}, nil)

	var gone []types.UID
	for _, w := range pool.wants {
		gone = append(gone, w.UID)
	}

	if diff := cmp.Diff([]types.UID{"uid", "again"}, gone); diff != "" {
		t.Errorf("The run of an object that is gone should end: -want, +got:\n%s", diff)
	}

	if s := c.schedule; len(s.written) > 0 {
		t.Errorf("Nothing should be remembered of an object that is gone, got %v", s.written)
	}

	if diff := cmp.Diff([]types.UID{"uid", "uid", "again", "again"}, m.forgotten); diff != "" {
		t.Errorf("Others should forget an object that is gone, too: -want, +got:\n%s", diff)
	}
}

// forgetful records the calls of Forget.
type forgetful struct {
	Dependents

	forgotten []types.UID
}

func (m *forgetful) Forget(uid types.UID) { m.forgotten = append(m.forgotten, uid) }
