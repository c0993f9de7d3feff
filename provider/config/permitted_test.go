package config

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestPermitted follows a configuration from a version with an account that lacks a right to the right being granted.
func TestPermitted(t *testing.T) {
	scheme := runtime.NewScheme()
	needs.OK(t, namespacedv1alpha1.AddToScheme(scheme))

	const command = "the provider may not create pods: kubectl create rolebinding"

	key := types.NamespacedName{Namespace: "team-a", Name: "default"}
	pc := &namespacedv1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Generation: 1}}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(pc).WithStatusSubresource(pc).Build()

	missing := command
	p := &permitted{kube, Kinds()[1], func(context.Context, common.Config) (string, error) { return missing, nil }}

	type outcome struct {
		Status  string
		Message string
		Again   time.Duration
	}

	for _, step := range []struct {
		name   string
		reason string
		do     func()
		want   outcome
	}{
		{"Missing", "A right that is missing is shown, with the command, and looked for again.", func() {}, outcome{"False", command, betweenChecks}},
		{"Granted", "The condition says that it was granted.", func() { missing = "" }, outcome{"True", "", 0}},
	} {
		t.Run(step.name, func(t *testing.T) {
			step.do()

			result, err := p.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
			needs.OK(t, err)

			got := &namespacedv1alpha1.ProviderConfig{}
			needs.OK(t, kube.Get(t.Context(), key, got))

			c := got.GetCondition(common.TypePermitted)
			if diff := cmp.Diff(step.want, outcome{string(c.Status), c.Message, result.RequeueAfter}); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", step.reason, diff)
			}
		})
	}

	t.Run("Never", func(t *testing.T) {
		other := pc.DeepCopy()
		other.Name, other.ResourceVersion = "other", ""

		needs.OK(t, kube.Create(t.Context(), other))

		if _, err := p.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(other)}); err != nil {
			t.Fatal(err)
		}

		needs.OK(t, kube.Get(t.Context(), client.ObjectKeyFromObject(other), other))

		if diff := cmp.Diff([]xpv2.Condition(nil), other.Status.Conditions); diff != "" {
			t.Errorf("A configuration that lacks nothing needs no condition: -want, +got:\n%s", diff)
		}
	})
}
