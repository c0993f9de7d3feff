package config

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestPermitted takes a configuration through a version with an account that lacks a right, and the grant of the right.
func TestPermitted(t *testing.T) {
	scheme := runtime.NewScheme()
	needs.OK(t, namespacedv1alpha1.AddToScheme(scheme))

	const command = "the provider may not create pods: kubectl create rolebinding"

	lacks, has := &namespacedv1alpha1.ProviderConfig{}, &namespacedv1alpha1.ProviderConfig{}
	lacks.Namespace, lacks.Name = "team-a", "lacks"
	has.Namespace, has.Name = "team-a", "has"
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(lacks, has).WithStatusSubresource(lacks).Build()

	for _, step := range []struct {
		reason  string
		config  client.Object
		missing string
		want    xpv2.Condition
		again   time.Duration
	}{
		{"A missing right is shown with the command that grants it, and checked again.", lacks, command, xpv2.Condition{Status: "False", Message: command}, betweenChecks},
		{"The condition becomes true once the right is granted.", lacks, "", xpv2.Condition{Status: "True"}, 0},
		{"A configuration that never lacked a right gets no condition.", has, "", xpv2.Condition{Status: "Unknown"}, 0},
	} {
		p := &permitted{kube, Kinds()[1].Config, func(context.Context, common.Config) (string, error) { return step.missing, nil }}
		key := client.ObjectKeyFromObject(step.config)

		result, err := p.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
		needs.OK(t, err)

		got := &namespacedv1alpha1.ProviderConfig{}
		needs.OK(t, kube.Get(t.Context(), key, got))

		c := got.GetCondition(common.TypePermitted)
		if c.Status != step.want.Status || c.Message != step.want.Message || result.RequeueAfter != step.again {
			t.Errorf("%s\nwant %+v, again after %s, got %+v, %s", step.reason, step.want, step.again, c, result.RequeueAfter)
		}
	}
}
