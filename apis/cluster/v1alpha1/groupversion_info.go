// Package v1alpha1 holds the cluster scoped kinds of the API, group ansible.crossplane.io.
//
// +kubebuilder:object:generate=true
// +groupName=ansible.crossplane.io
// +versionName=v1alpha1
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// SchemeGroupVersion is the group and version of the kinds in this package.
var SchemeGroupVersion = schema.GroupVersion{Group: common.GroupCluster, Version: common.Version}

// AddToScheme adds the kinds of this package to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion,
		&AnsibleRun{}, &AnsibleRunList{}, &ProviderConfig{}, &ProviderConfigList{},
		&ProviderConfigUsage{}, &ProviderConfigUsageList{},
		&Approval{}, &ApprovalList{})
	metav1.AddToGroupVersion(s, SchemeGroupVersion)

	return nil
}
