package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/config"
)

func TestWatcher(t *testing.T) {
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}

	selected := &common.KeySelector{Name: "vars", Key: "vars.yaml"}

	run := func(namespace, name, kind, cfg string, vars ...common.VarFile) *v1alpha1.AnsibleRun {
		r := &v1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		r.Spec.ProviderConfigReference = &xpv2.ProviderConfigReference{Kind: kind, Name: cfg}
		r.Spec.ForProvider.VarFiles = vars

		return r
	}

	shared := &v1alpha1.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	shared.Spec.Credentials = []common.Credential{{Filename: "key", FileSelector: common.FileSelector{
		Source: common.FileSourceSecret, SecretRef: &common.KeySelector{Namespace: "a", Name: "key", Key: "key"},
	}}}

	k := runKinds()[1]
	b := fake.NewClientBuilder().WithScheme(s).
		WithIndex(k.object, config.FieldConfig, config.IndexConfig).
		WithIndex(k.object, config.FieldReferences, config.IndexReferences).
		WithObjects(
			shared,
			run("a", "local", "ProviderConfig", "default", common.VarFile{Source: common.VarFileSourceConfigMapKey, ConfigMapKeyRef: selected}),
			run("a", "shared", "ClusterProviderConfig", "default"),
			run("a", "another", "ProviderConfig", "another", common.VarFile{Source: common.VarFileSourceSecretKey, SecretKeyRef: selected}),
			run("b", "local", "ProviderConfig", "default", common.VarFile{Source: common.VarFileSourceConfigMapKey, ConfigMapKeyRef: selected}),
			run("b", "shared", "ClusterProviderConfig", "default"),
		)

	w := watcher{runs: k.list}

	for _, c := range config.Kinds() {
		if c.Config.Group == k.Group {
			b.WithIndex(c.Object(), config.FieldReferences, config.IndexReferences)

			w.configs = append(w.configs, c.List)
		}
	}

	w.reader = b.Build()

	request := func(namespace, name string) reconcile.Request {
		return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	}

	cases := map[string]struct {
		reason string
		find   handler.MapFunc
		object client.Object
		want   []reconcile.Request
	}{
		"ProviderConfig": {
			reason: "A ProviderConfig should wake the runs of its namespace that use it.",
			find:   w.users,
			object: &v1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "default"}},
			want:   []reconcile.Request{request("a", "local")},
		},
		"ClusterProviderConfig": {
			reason: "A ClusterProviderConfig should wake the runs of all namespaces that use it.",
			find:   w.users,
			object: &v1alpha1.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
			want:   []reconcile.Request{request("a", "shared"), request("b", "shared")},
		},
		"ConfigMap": {
			reason: "A ConfigMap should wake the runs of its namespace that refer to it.",
			find:   w.referrers(config.KindConfigMap),
			object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "vars"}},
			want:   []reconcile.Request{request("b", "local")},
		},
		"Secret": {
			reason: "A Secret should not wake those who refer to a ConfigMap of the same name.",
			find:   w.referrers(config.KindSecret),
			object: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "vars"}},
			want:   []reconcile.Request{request("a", "another")},
		},
		"SecretOfConfiguration": {
			reason: "A Secret that a configuration refers to should wake the users of the configuration.",
			find:   w.referrers(config.KindSecret),
			object: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "key"}},
			want:   []reconcile.Request{request("a", "shared"), request("b", "shared")},
		},
		"Nobody": {
			reason: "A Secret that nobody refers to should wake nobody.",
			find:   w.referrers(config.KindSecret),
			object: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "key"}},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.find(t.Context(), tc.object)); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
