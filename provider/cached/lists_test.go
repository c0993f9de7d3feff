package cached

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource/fake"
	"github.com/crossplane/crossplane-runtime/v2/pkg/test"
)

func TestManager(t *testing.T) {
	var got client.ListOptions

	kube := &test.MockClient{MockList: func(_ context.Context, _ client.ObjectList, opts ...client.ListOption) error {
		got.ApplyOptions(opts)
		return nil
	}}

	if err := Manager(&fake.Manager{Client: kube}).GetClient().List(t.Context(), &corev1.SecretList{}, client.InNamespace("team")); err != nil {
		t.Fatal(err)
	}

	if got.UnsafeDisableDeepCopy == nil || !*got.UnsafeDisableDeepCopy || got.Namespace != "team" {
		t.Errorf("What is listed should not be copied, and what was asked for stay: got %+v", got)
	}
}
