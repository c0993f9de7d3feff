package ansiblerun

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
)

func TestUsers(t *testing.T) {
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}

	run := func(namespace, name, kind, config string) *v1alpha1.AnsibleRun {
		r := &v1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		r.Spec.ProviderConfigReference = &xpv2.ProviderConfigReference{Kind: kind, Name: config}

		return r
	}

	c := fake.NewClientBuilder().WithScheme(s).WithObjects(
		run("a", "local", "ProviderConfig", "default"),
		run("a", "shared", "ClusterProviderConfig", "default"),
		run("a", "another", "ProviderConfig", "another"),
		run("b", "local", "ProviderConfig", "default"),
		run("b", "shared", "ClusterProviderConfig", "default"),
	).Build()

	cases := map[string]struct {
		reason string
		config client.Object
		want   []reconcile.Request
	}{
		"Namespaced": {
			reason: "A ProviderConfig should wake the runs of its namespace that use it.",
			config: &v1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "default"}},
			want:   []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "a", Name: "local"}}},
		},
		"Cluster": {
			reason: "A ClusterProviderConfig should wake the runs of all namespaces that use it.",
			config: &v1alpha1.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
			want: []reconcile.Request{
				{NamespacedName: types.NamespacedName{Namespace: "a", Name: "shared"}},
				{NamespacedName: types.NamespacedName{Namespace: "b", Name: "shared"}},
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := users(c, Kinds()[1])(t.Context(), tc.config)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nusers(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
