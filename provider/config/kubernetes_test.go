package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

func TestKubernetes(t *testing.T) {
	spec := func(namespace string) common.ProviderConfigSpec {
		return common.ProviderConfigSpec{Kubernetes: &common.Kubernetes{ServiceAccountRef: common.ServiceAccountReference{Namespace: namespace, Name: "deployer"}}}
	}

	run := &namespacedv1alpha1.AnsibleRun{}
	run.Namespace = "team-a"

	own := &namespacedv1alpha1.ProviderConfig{Spec: spec("")}
	own.Namespace = "team-a"

	foreign := &namespacedv1alpha1.ProviderConfig{Spec: spec("team-b")}
	foreign.Namespace = "team-a"

	for name, tc := range map[string]struct {
		reason string
		run    common.AnsibleRun
		config common.Config
		want   *inputs.Kubernetes
		err    string
	}{
		"None":    {"Without the field a run does not reach the API server.", run, &namespacedv1alpha1.ProviderConfig{}, nil, ""},
		"Own":     {"The account of a namespace's configuration is in it.", run, own, &inputs.Kubernetes{Namespace: "team-a", ServiceAccount: "deployer"}, ""},
		"Foreign": {"It cannot be in another one.", run, foreign, nil, "spec.kubernetes.serviceAccountRef.namespace: only cluster scoped configurations may have it"},
		"Shared":  {"A shared configuration may name an account of each namespace.", run, &namespacedv1alpha1.ClusterProviderConfig{Spec: spec("")}, &inputs.Kubernetes{Namespace: "team-a", ServiceAccount: "deployer"}, ""},
		"Named":   {"Or one for all.", run, &namespacedv1alpha1.ClusterProviderConfig{Spec: spec("ops")}, &inputs.Kubernetes{Namespace: "ops", ServiceAccount: "deployer"}, ""},
		"Cluster": {"So may one for cluster scoped runs.", &clusterv1alpha1.AnsibleRun{}, &clusterv1alpha1.ProviderConfig{Spec: spec("ops")}, &inputs.Kubernetes{Namespace: "ops", ServiceAccount: "deployer"}, ""},
		"Nowhere": {"These have no namespace of their own.", &clusterv1alpha1.AnsibleRun{}, &clusterv1alpha1.ProviderConfig{Spec: spec("")}, nil, "spec.kubernetes.serviceAccountRef.namespace must be set: cluster scoped AnsibleRuns have no namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := kubernetes(tc.run, tc.config)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}

			if (err == nil) != (tc.err == "") || err != nil && err.Error() != tc.err {
				t.Errorf("%s\nwant error %q, got %v", tc.reason, tc.err, err)
			}
		})
	}
}
