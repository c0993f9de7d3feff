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

	for name, tc := range map[string]struct {
		reason string
		run    common.AnsibleRun
		config common.Config
		want   *inputs.Kubernetes
	}{
		"None":    {"Without the field a run does not reach the API server.", run, &namespacedv1alpha1.ProviderConfig{}, nil},
		"Own":     {"The account of a namespace's configuration is in it.", run, own, &inputs.Kubernetes{Namespace: "team-a", ServiceAccount: "deployer"}},
		"Shared":  {"A shared configuration may name an account of each namespace.", run, &namespacedv1alpha1.ClusterProviderConfig{Spec: spec("")}, &inputs.Kubernetes{Namespace: "team-a", ServiceAccount: "deployer"}},
		"Named":   {"Or one for all.", run, &namespacedv1alpha1.ClusterProviderConfig{Spec: spec("ops")}, &inputs.Kubernetes{Namespace: "ops", ServiceAccount: "deployer"}},
		"Cluster": {"So may one for cluster scoped runs.", &clusterv1alpha1.AnsibleRun{}, &clusterv1alpha1.ProviderConfig{Spec: spec("ops")}, &inputs.Kubernetes{Namespace: "ops", ServiceAccount: "deployer"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, kubernetes(tc.run, tc.config)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
