package controller

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/test"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	v1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestRefused has an API server that refuses outputs. The status is written without values that content published.
func TestRefused(t *testing.T) {
	invalid := kerrors.NewBadRequest("cannot decode a number")
	conflict := kerrors.NewConflict(v1alpha1.SchemeGroupVersion.WithResource("ansibleruns").GroupResource(), "x", errors.New("changed"))
	message := "the API server refused the status: cannot decode a number"

	observed := func(phase common.RunPhase) common.AnsibleRunObservation {
		bad := &apiextensionsv1.JSON{Raw: []byte(`{"x":1e999}`)}

		return common.AnsibleRunObservation{
			LastRun: &common.Run{ID: "2", Phase: phase, CurrentTask: "told", Progress: "told", Failures: []common.Failure{{Message: "told"}}},
			Outputs: bad, Reported: bad, Content: &common.Content{Digest: "told"}, Dependents: []common.DependentKind{{Kind: "told"}},
			Drift:         &common.Drift{Changed: 1, Tasks: []common.DriftTask{{Task: "told"}}},
			Preview:       &common.Preview{RunID: "1", Phase: common.PhaseSucceeded, Message: "told", Drift: &common.Drift{Changed: 1}},
			AppliedDigest: "new", HandledRequest: "token", Executed: true,
		}
	}
	reduced := func(phase common.RunPhase) common.AnsibleRunObservation {
		withheld := common.Withheld{"": message}

		return common.AnsibleRunObservation{
			LastRun:         &common.Run{ID: "2", Phase: phase, Reason: runs.ReasonStatusRefused, Message: message},
			WithheldOutputs: withheld, WithheldReported: withheld, Drift: &common.Drift{Changed: 1},
			Preview:       &common.Preview{RunID: "1", Phase: common.PhaseSucceeded, Reason: runs.ReasonStatusRefused, Message: message},
			AppliedDigest: "new", HandledRequest: "token", Executed: true,
		}
	}

	for name, tc := range map[string]struct {
		reason string
		err    error
		phase  common.RunPhase
		want   common.AnsibleRunObservation
		writes int
		fails  bool
	}{
		"Accepted": {"An accepted status is not changed.", nil, common.PhaseSucceeded, observed(common.PhaseSucceeded), 1, false},
		"Conflict": {"A conflict is retried with the same status.", conflict, common.PhaseSucceeded, observed(common.PhaseSucceeded), 1, true},
		"Ended":    {"The reduced status of an ended run is written, and the object is reconciled again.", invalid, common.PhaseSucceeded, reduced(common.PhaseSucceeded), 2, true},
		"Running":  {"The reduced status of a run in progress is not an error: it may publish other values.", invalid, common.PhaseRunning, reduced(common.PhaseRunning), 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			writes := 0
			kube := &test.MockClient{
				MockStatusUpdate: func(_ context.Context, o client.Object, _ ...client.SubResourceUpdateOption) error {
					writes++

					if run, ok := o.(common.AnsibleRun); ok && run.Observation().Outputs != nil {
						return tc.err
					}

					return nil
				},
				MockGet: test.NewMockGetFn(errors.New("gone")),
			}

			run := &v1alpha1.AnsibleRun{}
			run.Status.AtProvider = observed(tc.phase)
			run.Status.Conditions = []xpv2.Condition{xpv2.Available(), xpv2.ReconcileSuccess(), {Type: "Theirs"}}

			err := statusClient{kube, newSchedule(time.Minute, time.Second)}.Status().Update(t.Context(), run)
			if writes != tc.writes || (err != nil) != tc.fails {
				t.Errorf("\n%s\nUpdate(...): want %d writes and an error %t, got %d, %v", tc.reason, tc.writes, tc.fails, writes, err)
			}

			if diff := cmp.Diff(tc.want, run.Status.AtProvider); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}

			if has, want := len(run.Status.Conditions), 4-tc.writes; has != want {
				t.Errorf("\n%s\nwant %d conditions, got %d", tc.reason, want, has)
			}
		})
	}
}

func TestUnchanged(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*v1alpha1.AnsibleRun)
		get    error
		want   int
	}{
		"Same":      {"An unchanged status is not written.", func(*v1alpha1.AnsibleRun) {}, nil, 0},
		"Result":    {"A new result is written.", func(r *v1alpha1.AnsibleRun) { r.Status.AtProvider.AppliedDigest = "new" }, nil, 1},
		"Condition": {"A new condition is written.", func(r *v1alpha1.AnsibleRun) { r.SetConditions(xpv2.ReconcileError(errors.New("why"))) }, nil, 1},
		"Newer":     {"A conflict is left to the API server.", func(r *v1alpha1.AnsibleRun) { r.ResourceVersion = "1" }, nil, 1},
		"Gone":      {"An object that cannot be read is written.", func(*v1alpha1.AnsibleRun) {}, errors.New("gone"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			read := &v1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", ResourceVersion: "2"}}
			read.SetConditions(xpv2.Available(), xpv2.ReconcileSuccess())

			writes := 0
			kube := &test.MockClient{
				MockStatusUpdate: func(context.Context, client.Object, ...client.SubResourceUpdateOption) error {
					writes++
					return nil
				},
				MockUpdate: func(context.Context, client.Object, ...client.UpdateOption) error {
					writes++
					return nil
				},
				MockGet: func(_ context.Context, _ client.ObjectKey, o client.Object) error {
					if run, ok := o.(*v1alpha1.AnsibleRun); ok {
						read.DeepCopyInto(run)
					}

					return tc.get
				},
			}

			run := read.DeepCopy()
			tc.change(run)

			needs.OK(t, (statusClient{kube, newSchedule(time.Minute, time.Second)}).Status().Update(t.Context(), run))

			needs.OK(t, (statusClient{kube, nil}).Update(t.Context(), run))

			if writes != 2*tc.want {
				t.Errorf("\n%s\nUpdate(...): want %d writes of each, got %d of both", tc.reason, tc.want, writes)
			}
		})
	}
}

func TestShowState(t *testing.T) {
	ignores := common.StateIgnored(nil).WithObservedGeneration(2)
	may := common.MayUseState().WithObservedGeneration(2)
	report := func(phase common.RunPhase, ignores bool) runs.Report {
		return runs.Report{Run: common.Run{Phase: phase}, IgnoresState: ignores, Generation: 2}
	}
	ignored := func(r *v1alpha1.AnsibleRun) { r.SetConditions(ignores) }
	says := func(r *v1alpha1.AnsibleRun) {
		r.Spec.ForProvider.OnDelete = &common.OnDelete{Policy: common.DeleteKeep}
	}
	keeps := func(r *v1alpha1.AnsibleRun) { r.SetManagementPolicies(managementPolicies()["OCU"]) }

	for name, tc := range map[string]struct {
		reason string
		run    *v1alpha1.AnsibleRun
		report runs.Report
		want   []xpv2.Condition
	}{
		"Says":     {"onDelete needs no condition.", object(says), report(common.PhaseSucceeded, true), nil},
		"Ignores":  {"Content that ignores the state has the condition.", object(), report(common.PhaseSucceeded, true), []xpv2.Condition{ignores}},
		"Keeps":    {"Deletion runs nothing.", object(keeps), report(common.PhaseSucceeded, true), nil},
		"Uses":     {"Content that may use the state has no condition.", object(), report(common.PhaseSucceeded, false), nil},
		"UsesNow":  {"Changed content may use the state.", object(ignored), report(common.PhaseSucceeded, false), []xpv2.Condition{may}},
		"KeepsNow": {"Without the policy Delete, the condition is True.", object(ignored, keeps), report(common.PhaseSucceeded, true), []xpv2.Condition{may}},
		"Failed":   {"A failed run does not change the condition.", object(ignored), report(common.PhaseFailed, false), []xpv2.Condition{ignores}},
	} {
		t.Run(name, func(t *testing.T) {
			showState(tc.run, tc.report)

			if diff := cmp.Diff(tc.want, *tc.run.Conditions(), cmpopts.IgnoreTypes(metav1.Time{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
