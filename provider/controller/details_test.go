package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/lifecycle"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

func TestPublish(t *testing.T) {
	digest := digestOf(t, in("a"))
	run := common.Run{ID: "1", Mode: common.ModeApply, State: common.StatePresent, Phase: common.PhaseSucceeded, InputsDigest: digest, StartTime: at(0), CompletionTime: at(0)}
	told := &runs.Report{Run: run, Attempt: 1, ConnectionDetails: map[string][]byte{"password": []byte("s3cret")}}

	nowhere := &common.PublishedDetails{RunID: "1"}
	there := &common.PublishedDetails{RunID: "1", Namespace: "ns", Name: "connection", UID: "s"}
	secret := func(uid string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "connection", UID: "s", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "AnsibleRun", Name: "run", UID: "uid", Controller: new(true)},
		}}, Data: map[string][]byte{"uid": []byte(uid)}}
	}
	another := secret("other")
	another.UID = "other"
	foreign := secret("foreign")
	foreign.OwnerReferences[0].UID = "another"

	for name, tc := range map[string]struct {
		reason string
		// persisted is the status before, and report the report of the pool.
		persisted *common.PublishedDetails
		report    *runs.Report
		// to is the name of the connection Secret.
		to     string
		policy common.RunPolicy
		// cached is the Secret in the cache, and stored the one in the API server.
		cached, stored *corev1.Secret
		want           *common.PublishedDetails
		// data is the data of the Secret in the end.
		data      string
		runs      bool
		forgotten bool
		fails     bool
	}{
		"Arrive": {
			reason: "Published details should be written into the Secret, and the result should be kept until that is in the status.",
			report: told, to: "connection", stored: secret(""),
			want: there, data: "s3cret",
		},
		"ReadBack": {
			reason:    "A result whose connection details are published should be forgotten.",
			persisted: there, report: told, to: "connection", stored: secret(""), cached: secret(""),
			want: there, forgotten: true,
		},
		"Refused":   {reason: "Details that could not be written should be tried again, and the status should say so.", persisted: nowhere, report: told, to: "connection", stored: foreign, want: nowhere, fails: true},
		"NotWanted": {reason: "An object without a connection Secret does not wait for it.", persisted: nowhere, report: told, want: nowhere, forgotten: true},
		"Lost": {
			reason:    "Details that were lost with the provider should be published by another run, under every policy.",
			persisted: nowhere, to: "connection", policy: common.RunOnChange,
			want: nowhere, runs: true,
		},
		"LostChecked": {reason: "A check does not replace the run.", persisted: nowhere, to: "connection", policy: common.CheckWhenObserve, want: nowhere, runs: true},
		"Renamed": {
			reason:    "Another name of the Secret needs another run: the provider does not read Secrets that it has written.",
			persisted: there, to: "else", cached: secret(""), stored: secret(""),
			want: there, runs: true,
		},
		"Deleted":      {reason: "A deleted Secret should be written again.", persisted: there, to: "connection", want: there, runs: true},
		"Replaced":     {reason: "Another Secret of the same name does not have the details.", persisted: there, to: "connection", cached: another, stored: another, want: there, runs: true},
		"NotCachedYet": {reason: "A Secret may not be in the cache yet.", persisted: there, to: "connection", stored: secret(""), want: there},
		"Unread":       {reason: "Without a connection Secret, no details are missing.", persisted: there, want: there},
	} {
		t.Run(name, func(t *testing.T) {
			p := &fakePool{report: tc.report}
			kube := holding(tc.stored)
			status := common.AnsibleRunObservation{ConnectionDetails: tc.persisted}

			if tc.persisted != nil {
				status.LastRun, status.AppliedDigest = run.DeepCopy(), digest
				status.LastApply = &common.Apply{ID: "1", State: common.StatePresent, Result: common.PhaseSucceeded, InputsDigest: digest, Attempts: 1, CompletionTime: at(0)}
			}

			o := object(annotated(common.AnnotationRunPolicy, string(tc.policy)), observed(*status.DeepCopy()), func(r *v1alpha1.AnsibleRun) {
				if tc.to != "" {
					r.SetWriteConnectionSecretToReference(&xpv2.LocalSecretReference{Name: tc.to})
				}
			})
			if tc.policy == "" {
				delete(o.Annotations, common.AnnotationRunPolicy)
			}

			got, err := connect(t, p, o, resolves("a", nil), func(c *connector) {
				c.kube, c.metadata = kube, holding(tc.cached)
			}).Observe(t.Context(), o)
			if (err != nil) != tc.fails || !tc.fails && (p.report != nil && p.report.Waits) != tc.runs {
				t.Errorf("\n%s\nObserve(...): want run %t, failure %t, got %+v, %v", tc.reason, tc.runs, tc.fails, got, err)
			}

			if diff := cmp.Diff(tc.want, o.Status.AtProvider.ConnectionDetails); diff != "" {
				t.Errorf("\n%s\nObserve(...): -want persisted, +got persisted:\n%s", tc.reason, diff)
			}

			s := &corev1.Secret{}
			_ = kube.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "connection"}, s)

			if got := string(s.Data["password"]); got != tc.data || len(p.forgotten) > 0 != tc.forgotten {
				t.Errorf("\n%s\nObserve(...): want %q, forgotten %t, got %q, %v", tc.reason, tc.data, tc.forgotten, got, p.forgotten)
			}
		})
	}
}

// TestRecordDetails has content that stops publishing details, and is not run again because of that.
func TestRecordDetails(t *testing.T) {
	o := &common.AnsibleRunObservation{ConnectionDetails: &common.PublishedDetails{RunID: "1", Name: "connection"}}
	r := runs.Report{Run: common.Run{ID: "2", Mode: common.ModeApply, State: common.StatePresent, Phase: common.PhaseFailed}}

	if lifecycle.Record(o, r); o.ConnectionDetails == nil {
		t.Error("Published details should stay when the next apply fails")
	}

	r.Run.Phase = common.PhaseSucceeded
	if lifecycle.Record(o, r); o.ConnectionDetails != nil {
		t.Errorf("An apply that publishes nothing should be persisted as one, got %+v", o.ConnectionDetails)
	}
}

// holding returns a client of an API server with a Secret; nil for none.
func holding(s *corev1.Secret) client.Client {
	b := fake.NewClientBuilder()
	if s != nil {
		b = b.WithObjects(s.DeepCopy())
	}

	return b.Build()
}
