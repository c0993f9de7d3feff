package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestIndexReferences(t *testing.T) {
	key := func(namespace, name string) *common.KeySelector {
		return &common.KeySelector{Namespace: namespace, Name: name, Key: "key"}
	}
	p := common.AnsibleRunParameters{
		VarFiles: []common.VarFile{
			{Source: common.VarFileSourceConfigMapKey, ConfigMapKeyRef: key("", "one")},
			{Source: common.VarFileSourceSecretKey, SecretKeyRef: key("a", "two"), Optional: true},
			{Source: common.VarFileSourceSecretKey, SecretKeyRef: key("b", "three")},
			{Source: common.VarFileSourceSecret, SecretRef: &common.ObjectSelector{Namespace: "a", Name: "whole"}},
			{Source: common.VarFileSourceConfigMap, ConfigMapRef: &common.ObjectSelector{Namespace: "a", Name: "whole"}},
		},
		Inventories: []common.Inventory{
			{FileSelector: common.FileSelector{Source: common.FileSourceSecret, SecretRef: key("a", "two")}},
			{FileSelector: common.FileSelector{Source: common.FileSourceConfigMapKey, ConfigMapKeyRef: key("a", "four")}},
			{FileSelector: common.FileSelector{Source: common.FileSourceNone}},
		},
	}
	namespaced := &namespacedv1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{Namespace: "a"}}
	namespaced.Spec.ForProvider = p
	cluster := &clusterv1alpha1.AnsibleRun{}
	cluster.Spec.ForProvider = p
	connected := &clusterv1alpha1.AnsibleRun{}
	connected.Spec.WriteConnectionSecretToReference = &xpv2.SecretReference{Namespace: "d", Name: "connection"}
	connectedHere := &namespacedv1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{Namespace: "a"}}
	connectedHere.Spec.WriteConnectionSecretToReference = &xpv2.LocalSecretReference{Name: "connection"}
	shared := &namespacedv1alpha1.ClusterProviderConfig{}
	shared.Spec.Credentials = []common.Credential{
		{Filename: "key", FileSelector: common.FileSelector{Source: common.FileSourceSecret, SecretRef: key("c", "key")}},
	}
	shared.Spec.VarFiles = []common.VarFile{
		{Source: common.VarFileSourceSecret, SecretRef: &common.ObjectSelector{Namespace: "c", Name: "vars"}},
	}

	for name, tc := range map[string]struct {
		reason string
		object client.Object
		want   []string
	}{
		"Namespaced": {
			"A namespaced run refers only to objects of its namespace. Duplicate references are indexed once.", namespaced,
			[]string{"ConfigMap a/one", "Secret a/two", "Secret a/three", "Secret a/whole", "ConfigMap a/whole", "ConfigMap a/four"},
		},
		"Cluster": {
			"A cluster scoped run may refer to any namespace.", cluster,
			[]string{"Secret a/two", "Secret b/three", "Secret a/whole", "ConfigMap a/whole", "ConfigMap a/four"},
		},
		"Connected":             {"A run refers to the Secret of its connection details.", connected, []string{"Secret d/connection"}},
		"ConnectedNamespaced":   {"The Secret of a namespaced run's connection details is in its namespace.", connectedHere, []string{"Secret a/connection"}},
		"ClusterProviderConfig": {"A configuration refers to its variables and its credentials.", shared, []string{"Secret c/key", "Secret c/vars"}},
		"Other":                 {"Objects of other kinds have no references.", &corev1.Secret{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, IndexReferences(tc.object)); diff != "" {
				t.Errorf("\n%s\nIndexReferences(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestNameOnly(t *testing.T) {
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "a", Name: "b", UID: "c", ResourceVersion: "1",
		Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "secret"},
		Labels:      map[string]string{"a": "b"},
	}}
	want := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", UID: "c", ResourceVersion: "1"}}

	got, err := NameOnly(m)
	needs.OK(t, err)

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Only the name, the uid and the version should be kept: -want, +got:\n%s", diff)
	}
}
