package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pods"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestOver tests whether the run of a Pod that is not followed is over.
func TestOver(t *testing.T) {
	ended := func(id string, ago time.Duration) *common.Run {
		return &common.Run{ID: id, Phase: common.PhaseFailed, CompletionTime: &metav1.Time{Time: time.Now().Add(-ago)}}
	}

	for name, tc := range map[string]struct {
		reason string
		last   *common.Run
		uid    string
		want   bool
	}{
		"None":     {"The status may not show the run yet.", nil, "uid", false},
		"Running":  {"A run in progress will be followed.", &common.Run{ID: "1", Phase: common.PhaseRunning}, "uid", false},
		"Ended":    {"The pool may not have forgotten a run that has just ended.", ended("1", time.Second), "uid", false},
		"Recorded": {"A run that ended some time ago is over.", ended("1", time.Hour), "uid", true},
		"Another":  {"Another run in the status begins after the end of the former one.", ended("2", 0), "uid", true},
		"Gone":     {"An object that was created again is another one.", ended("1", time.Hour), "other", true},
	} {
		t.Run(name, func(t *testing.T) {
			run := object(observed(common.AnsibleRunObservation{LastRun: tc.last}))
			ref := pods.ObjectReference{
				GroupKind: v1alpha1.SchemeGroupVersion.WithKind(common.KindAnsibleRun).GroupKind().String(),
				Namespace: run.Namespace, Name: run.Name, UID: tc.uid, RunID: "1",
			}

			kube := fakeKube(t).WithObjects(run).Build()

			got, err := Over(t.Context(), kube, kube.Scheme(), ref)
			needs.OK(t, err)

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
